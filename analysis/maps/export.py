"""Take a map with you: tidy rows, CSV that spreadsheets can open without harm, NPZ, and where it all comes from.

A CSV file starts with lines of `# key: "value"` (JSON strings), so `pandas.read_csv(file, comment="#")` reads it;
`read_csv` here gives back both the table and the provenance, exactly.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.words import chinese
from analysis.words.chinese import JIEBA, SPACES
from analysis.words.units import Units, UnitTrace
from model import AttentionTrace, HeadworkError, Tokens
from model.arrays import write_npz
from model.version import app_version

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 1_000_000  # of a CSV file: about 40 MB, and all that a spreadsheet can open
NOTES = {
    "counting": "layer and head from 1; query and key from 0; the query (row) looks at the key (column)",
    "formulas": "a text that begins with = + - @ has a ' before it so that no spreadsheet runs it",
}
# A cell that a spreadsheet takes for a formula (OWASP, CSV injection), full-width signs included.
_FORMULA = re.compile(r"'*(\s*[=+\-@＝＋－＠]|[\t\r\n])")
# What would start a new cell or line inside a header line; JSON reads these escapes back.
_HEADER_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in ",;\u0085\u2028\u2029"})


def provenance(trace: AttentionTrace, **view: object) -> dict[str, str]:
    """What every file carries: app, model, weights, mask, text; and what of it is shown, such as reading="norm".

    In cross-attention `text` is the queries' and `context` the keys'.
    """
    return {
        "app": f"Headwork {app_version()}",
        "model": trace.model_label,
        "model_id": trace.model_id,
        "weights_sha256": trace.sha256 or "none: untrained",
        "mask": str(trace.mask),
        "text": trace.text,
        **({} if trace.context is None else {"context": trace.context.text}),
        **{key: str(value) for key, value in view.items()},
    }


def level_of(units: Units) -> str:
    """Whose words a table's rows are, for `provenance`: "pieces", "words", "words, Chinese by jieba (rjieba 0.2.2)"."""
    if not units.segmenter:
        return units.level
    names = {JIEBA: f"jieba (rjieba {chinese.version()})", SPACES: "spaces"}
    who = " and ".join(names[each] for each in units.segmenter)
    return f"{units.level}, {'' if units.segmenter == (SPACES,) else 'Chinese '}by {who}"


def tidy(trace: UnitTrace, heads: Sequence[tuple[int, int]] | None = None) -> pd.DataFrame:
    """One row for each cell: layer, head, query, query_token, key, key_token, weight, allowed.

    Args:
        trace: weights between pieces or words, in any reading.
        heads: (layer, head) from 0; None = all heads.

    Raises:
        HeadworkError: more than `MOST_ROWS` rows.
    """
    n_units, n_keys = trace.attention.shape[-2:]
    if heads is None:
        heads = [(layer, head) for layer in range(trace.n_layers) for head in range(trace.n_heads)]
    n_rows = len(heads) * n_units * n_keys
    if n_rows > MOST_ROWS:
        raise HeadworkError(
            "{n_heads} heads of {n_tokens} tokens make {n_rows} rows; a table holds at most {most}. "
            "Choose fewer heads, or take the NPZ file, which holds everything.",
            n_heads=len(heads),
            n_tokens=n_units,
            n_rows=n_rows,
            most=MOST_ROWS,
        )
    import pandas as pd  # as everywhere in this room only where it's needed: half a second to import

    labels, keys = (np.array(each, dtype=object) for each in (trace.labels, trace.keys))
    which, query, key = (axis.ravel() for axis in np.indices((len(heads), n_units, n_keys)))
    layer, head = np.array(heads, dtype=int).reshape(-1, 2).T
    return pd.DataFrame(
        {
            "layer": layer[which] + 1,
            "head": head[which] + 1,
            "query": query,
            "query_token": labels[query],
            "key": key,
            "key_token": keys[key],
            "weight": trace.attention[layer, head].ravel(),
            "allowed": np.array([trace.allowed_in(layer) for layer, _ in heads], dtype=bool).ravel(),
        }
    )


def csv_text(table: pd.DataFrame, source: Mapping[str, str]) -> str:
    """A table as CSV with its provenance in commented lines above. Lists in cells are joined with "; "."""
    import pandas as pd

    header = [f"# {key}: {_header_value(value)}\n" for key, value in {**source, **NOTES}.items()]
    columns = {name: _safe_column(column) for name, column in table.items()}
    body: str = pd.DataFrame(columns).to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    return "".join(header) + body


def csv_bytes(table: pd.DataFrame, source: Mapping[str, str]) -> bytes:
    """`csv_text` as UTF-8 with a byte-order mark, without which Excel garbles anything but ASCII."""
    return csv_text(table, source).encode("utf-8-sig")


def read_csv(content: str | bytes) -> tuple[pd.DataFrame, dict[str, str]]:
    """The table and the provenance of a file that `csv_text` or `csv_bytes` wrote, with formulas' marks taken off.

    Words such as "NA" and "2009" stay text in columns that hold text.
    """
    import pandas as pd

    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    lines = text.split("\n")
    n_header = next(i for i, line in enumerate(lines) if not line.startswith("# "))
    source = {}
    for line in lines[:n_header]:
        key, value = line[2:].split(": ", 1)
        if key not in NOTES:
            source[key] = json.loads(value)
    body = "\n".join(lines[n_header:])
    names = next(csv.reader([lines[n_header]]))
    text_columns = [name for name in names if name.endswith("_token") or name in ("name", "patterns")]
    table = pd.read_csv(
        io.StringIO(body),
        dtype=dict.fromkeys(text_columns, object),
        keep_default_na=False,
        na_values={name: [""] for name in names if name not in text_columns},
        float_precision="round_trip",
    )
    for name in text_columns:
        table[name] = table[name].map(_bare)
    return table, source


def npz_bytes(
    trace: AttentionTrace,
    source: Mapping[str, str],
    norms: NDArray[np.floating] | None = None,
    removed: NDArray[np.floating] | None = None,
) -> bytes:
    """Every map with all that is needed to read it, as a NumPy archive without pickles.

    Arrays: those of `model.arrays.trace_arrays`, pieces (N,), word_ids (N,) with −1 for none,
    is_special (N,), provenance (a JSON string), and what makes another reading of the raw weights, if given:
    value_norms (L, h, N), and removed (L, h, N), the share of each row that the reading leaves out.
    In cross-attention key_pieces, key_word_ids and key_is_special (N_k,) too.
    """
    more = _tokens(trace.tokenized) | {"provenance": np.array(json.dumps(dict(source), ensure_ascii=False))}
    if trace.context is not None:
        more |= {f"key_{name}": array for name, array in _tokens(trace.context).items()}
    if norms is not None:
        more["value_norms"] = norms
    if removed is not None:
        more["removed"] = removed
    stream = io.BytesIO()
    write_npz(stream, trace, **more)
    return stream.getvalue()


def _tokens(tokens: Tokens) -> dict[str, NDArray[np.generic]]:
    return {
        "pieces": np.array(tokens.pieces),
        "word_ids": np.array([-1 if word is None else word for word in tokens.word_ids]),
        "is_special": np.array(tokens.is_special),
    }


def _header_value(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).translate(_HEADER_ESCAPES)


def _safe_column(column: pd.Series) -> pd.Series:
    if column.dtype.kind in "biuf":
        return column
    return column.map(lambda cell: _safe("; ".join(cell) if isinstance(cell, (list, tuple)) else str(cell)))


def _safe(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def _bare(text: str) -> str:
    return text[1:] if text.startswith("'") and _FORMULA.match(text[1:]) else text
