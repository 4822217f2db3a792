"""What a step is asked of: a sentence, a model and a mask. The model is loaded and run when somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from analysis.lessons.lesson import Given, Language
from analysis.words.units import UnitTrace, by_pieces, by_words, drop_padding, drop_special
from model import AttentionModel, AttentionTrace, HeadworkError, Mask
from model.catalogue import E5, SMOLLM2, allowed_ids, local_folder, resolve
from model.errors import shown
from model.head_id import HeadId
from model.loading import load_one_part
from model.weights.e5 import e5_path
from model.weights.minilm import minilm_folder
from model.weights.smollm2 import smollm2_path

LONGEST_TEXT = 600  # characters of a sentence that a class types


@dataclass(frozen=True, eq=False)
class Source:
    """Where models and traces come from; a page puts its caches here. A trace may come without its model."""

    model: Callable[[str], AttentionModel]
    trace: Callable[[str, str, Mask], AttentionTrace]  # text, model id, mask


_loaded = cache(load_one_part)
DIRECT = Source(_loaded, lambda text, model_id, mask: _loaded(model_id).trace(text, mask))


@dataclass(frozen=True, eq=False)
class Setup:
    """A sentence, a model and a mask, as a step gives them or the class typed them.

    Attributes:
        text: "" for a step that asks no model, or only its records.
        language: whose text, model and parameters these are.
        is_stand_in: the model of the wished language isn't here, so these are the English ones; a page says so.
    """

    text: str = ""
    model_id: str = ""
    mask_name: str | None = None
    language: Language = "en"
    is_stand_in: bool = False
    source: Source = field(default=DIRECT, repr=False)

    @cached_property
    def model(self) -> AttentionModel:
        """The model, loaded now. Raises HeadworkError where it can't be."""
        return self.source.model(self.model_id)

    @cached_property
    def mask(self) -> Mask:
        """The mask, the model's own where none is given."""
        return Mask.of(self.mask_name or resolve(self.model_id).trained_mask or "bidirectional")

    @cached_property
    def trace(self) -> AttentionTrace:
        """Every map of the sentence."""
        return self.trace_of(self.text)

    def trace_of(self, text: str) -> AttentionTrace:
        """Every map of another sentence, under the same model and mask."""
        return self.source.trace(text, self.model_id, self.mask)

    @cached_property
    def words(self) -> UnitTrace:
        """The maps between words, special tokens left out and nothing rescaled."""
        return drop_special(by_words(self.trace))

    @cached_property
    def pieces(self) -> UnitTrace:
        """The maps between tokens, special ones too, padding left out."""
        return drop_padding(by_pieces(self.trace))

    def head(self, layer: int, head: int) -> HeadId:
        """The head of a layer, both counted from 1.

        Raises:
            HeadworkError: this model has no such head.
        """
        layers, heads = self.trace.n_layers, self.trace.n_heads
        if not (1 <= layer <= layers and 1 <= head <= heads):
            raise HeadworkError(
                "There is no head {head} in {model}: it has {layers} layers of {heads} heads.",
                head=f"{layer}-{head}",
                model=self.trace.model_label,
                layers=layers,
                heads=heads,
            )
        return HeadId(layer - 1, head - 1)

    def place(self, word: str, words: UnitTrace | None = None) -> int:
        """Where a word of the sentence stands among the units, from 0: the first such, whatever its case.

        Raises:
            HeadworkError: it doesn't stand there as a word of its own.
        """
        labels = [label.casefold() for label in (words or self.words).labels]
        if word.casefold() not in labels:
            raise HeadworkError(
                "The question is about “{word}”, which is no word of {text}. Type a sentence with that word in it.",
                word=word,
                text=shown(self.text, 120),
            )
        return labels.index(word.casefold())

    def with_text(self, text: str) -> Setup:
        """The same with another sentence.

        Raises:
            HeadworkError: there is none, or it is too long for a step.
        """
        text = text.strip()
        if not text:
            raise HeadworkError("There is no sentence yet. Type one.")
        if len(text) > LONGEST_TEXT:
            raise HeadworkError(
                "The sentence has {n} characters; a step takes up to {most}. Shorten it.",
                n=len(text),
                most=LONGEST_TEXT,
            )
        return replace(self, text=text)


def setup_of(given: Given | None, language: Language, source: Source = DIRECT) -> Setup:
    """What a step gives in a language; the English sentence and model where the other language's model isn't here."""
    if given is None or given.model is None:
        return Setup(language=language, mask_name=None if given is None else given.mask, source=source)
    stands_in = given.model.zh != given.model.en and language == "zh" and not is_here(given.model.zh)
    of: Language = "en" if stands_in else language
    text = "" if given.text is None else getattr(given.text, of)
    return Setup(text, getattr(given.model, of), given.mask, of, stands_in, source)


def is_here(model_id: str) -> bool:
    """Whether a model opens at once: offered by this server, its package installed or its files downloaded."""
    ids = allowed_ids()
    if ids is not None and model_id not in ids:
        return False
    if model_id in (E5, SMOLLM2):
        return (e5_path() if model_id == E5 else smollm2_path()) is not None
    try:
        if model_id == "minilm":
            return minilm_folder().is_dir()
        entry = resolve(model_id)
    except HeadworkError:
        return False
    return entry.source != "hub" or local_folder(entry) is not None
