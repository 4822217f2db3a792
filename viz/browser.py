"""The browser components as text: the files in components/, and all of them as one script that is sent once."""

import json
from pathlib import Path

FILES = Path(__file__).parent / "components"
SCRIPTS = {  # besides encoding.js, which all of them share
    "token_strip": (
        "layer_maps.js",
        "sentences.js",
        "pointing.js",
        "edges.js",
        "tiles.js",
        "linked_map.js",
        "painting.js",
        "token_strip.js",
    ),
    "next_tokens": ("next_tokens.js",),
    "overview": ("legend.js", "larger_map.js", "overview.js"),
    "learning": ("learning.js",),
    "mask_grid": ("mask_grid.js",),
    "block_diagram": ("block_diagram.js",),
    "architectures": ("architectures.js",),
    "kept": ("kept.js",),
    "prediction": ("prediction_kinds.js", "prediction_number.js", "prediction_cells.js", "prediction.js"),
    "lesson_shelf": ("lesson_progress.js", "lesson_shelf.js"),
    "lesson_curtain": ("lesson_curtain.js",),
    "lesson_flip": ("lesson_flip.js",),
    "lesson_steps": ("lesson_progress.js", "lesson_steps.js"),
}


def read(*names: str) -> str:
    """Files of components/, one after the other."""
    return "\n".join((FILES / name).read_text(encoding="utf-8") for name in names)


def parts(*names: str) -> str:
    """The components as JavaScript that defines `parts`: an object with the function of each under its name."""
    entry = "export default function"
    made = []
    for name in names:
        script = read(*SCRIPTS[name])
        if script.count(entry) != 1:
            raise ValueError(f"The scripts of {name} need exactly one default export.")
        made.append(f"{name}: (() => {{\n{script.replace(entry, 'const entry = function')}\nreturn entry;\n}})(),")
    return f"{read('encoding.js')}\nconst parts = {{\n{''.join(made)}\n}};"


def library() -> str:
    """The script of a component that draws nothing: it hands every other component its function, markup and styles."""
    looks = {name: {"html": read(f"{name}.html"), "css": read("base.css", f"{name}.css")} for name in SCRIPTS}
    return f"{parts(*SCRIPTS)}\nconst looks = {json.dumps(looks)};\n{read('library.js')}"


def loader(name: str) -> str:
    """The script that each message of a component carries: a few lines that wait for the library."""
    return f"{read('loader.js')}\nexport default (given) => draw({json.dumps(name)}, given);\n"
