"""Training an encoder–decoder on a Translation: the alignment appears in its cross-attention, or doesn't.

    run = Translating(TranslateSettings("translate-en", heads=2))
    run.step(run.settings.steps)
    run.curve[-1]            TranslatePoint(step, loss, accuracy, words)
    run.frames[-1]           TranslateFrame: step, cross (L, h, N_q, N_k) of the example, alignment, written
    run.frames[-1].alignment.error, .share (L, h), .by_class (L, h, 4), .best, .best_error     model.training.alignment
    run.source, run.rows     words of the example: the columns; and what each row writes, the end mark last
    run.links                the true source word of each row (−1 for the end mark's)
    run.test()               TranslateTest on 1,024 fresh sentences; run.switched_off() what each head is needed for

Row i reads the target up to word i − 1 and writes word i: a map's rows are named for what they write. All sentences
that something is measured on are held out: the training never draws them. L counts the decoder's layers (one here).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from model.attention import check_heads
from model.encoder_decoder import EncoderDecoder, EncoderDecoderConfig, EncoderDecoderOutput
from model.errors import check_whole_numbers
from model.masks import Mask
from model.tasks.task import NOTHING_ASKED, find_task
from model.tasks.translate import CLASSES, MOST_SOURCE, MOST_TARGET, START, TRANSLATIONS, Pairs, Translation
from model.training.alignment import Alignment, Singles, by_chance, measure, straight_across
from model.training.frames import steps_to_look_at
from model.training.network import fresh
from model.training.run import HELD_OUT, TEST, WEIGHTS, Run, stream
from model.training.settings import BOUNDS, D_FF, check_rate
from model.transformer import TransformerConfig

N_HELD_OUT = 128  # sentences behind each frame
N_TEST = 1024  # sentences behind the final numbers
COMPARE = (1, 4)  # heads, what is best watched side by side
_BOUNDS = {name: BOUNDS[name] for name in ("heads", "layers", "steps", "seed", "d_model", "batch")}


@dataclass(frozen=True)
class TranslateSettings:
    """One training run. Two runs with equal settings are equal, number by number, on one machine.

    Attributes:
        task: id of one of model.tasks.TRANSLATIONS.
        heads: in each attention of encoder and decoder.
        layers: of the encoder; the decoder has one.
        learning_rate: the highest of the cycle.
        batch: sentences a step.

    Raises:
        HeadworkError: an unknown task, a number out of bounds, heads that don't divide d_model.
    """

    task: str = "translate-en"
    heads: int = 4
    layers: int = 2
    steps: int = 600
    learning_rate: float = 1e-2
    seed: int = 0
    d_model: int = 32
    batch: int = 64

    def __post_init__(self) -> None:
        """Checks everything."""
        find_task(TRANSLATIONS, self.task)
        check_whole_numbers(self, _BOUNDS)
        check_rate(self.learning_rate)
        check_heads(self.d_model, self.heads)

    @property
    def rule(self) -> Translation:
        """The task itself."""
        return TRANSLATIONS[self.task]

    @property
    def allowed(self) -> Mask:
        """The mask of the decoder's self-attention; encoder and cross-attention see all words."""
        return Mask.causal()

    @property
    def config(self) -> EncoderDecoderConfig:
        """What is trained: blocks with normalisation before each part (pre-LN), vectors of words for each language."""
        source, target = len(self.rule.source_vocabulary), len(self.rule.target_vocabulary)
        return EncoderDecoderConfig(
            self._part(source, self.layers, MOST_SOURCE, output=False),
            self._part(target, 1, MOST_TARGET, output=True),
            shared_embedding=False,
        )

    def _part(self, n_words: int, layers: int, most: int, *, output: bool) -> TransformerConfig:
        return TransformerConfig(
            vocab_size=n_words,
            d_model=self.d_model,
            num_heads=self.heads,
            num_layers=layers,
            d_ff=D_FF,
            max_tokens=most,
            norm="pre",
            activation="relu",
            embedding_norm=False,
            final_norm=True,
            layer_norm_eps=1e-5,
            dropout=0.0,
            output="own" if output else "none",
        )


class TranslatePoint(NamedTuple):
    """A point of the learning curve, on held-out sentences."""

    step: int
    loss: float  # nats a word, the words before it given
    accuracy: float  # whole sentences right, written by the network itself
    words: float  # words right, the words before each given


@dataclass(frozen=True, eq=False)
class TranslateFrame:
    """Every head of cross-attention at one step.

    Attributes:
        cross: (L, h, N_q, N_k), of the example, whose true translation is read.
        alignment: over all held-out sentences.
        written: what the network writes for the example by itself, the end mark left out.
    """

    step: int
    cross: Singles
    alignment: Alignment
    written: tuple[str, ...]


class TranslateTest(NamedTuple):
    """The final numbers, on 1,024 fresh sentences that are never trained on."""

    accuracy: float  # whole sentences right, written by the network itself
    words: float  # words right, the words before each given
    alignment: Alignment
    straight_across: float  # the error rate of a head that ignores word order
    by_chance: float  # the error rate of a head that looks anywhere


class WithoutHead(NamedTuple):
    """Words right by class, one head of cross-attention switched off at a time, and with all heads."""

    without: Singles  # (L, h, 4)
    unharmed: Singles  # (4,)


class Translating(Run[TranslateSettings, EncoderDecoder, TranslatePoint, TranslateFrame]):
    """One encoder–decoder that learns to translate."""

    def __init__(self, settings: TranslateSettings) -> None:
        self.task = task = settings.rule
        with torch.inference_mode(False):
            network = fresh(lambda: EncoderDecoder(settings.config), stream(settings.seed, WEIGHTS))
            super().__init__(settings, network, steps_to_look_at(settings.steps))
            self._held_out = task.batch(stream(settings.seed, HELD_OUT), N_HELD_OUT, held_out=True)
        self._look()

    @cached_property
    def example(self) -> Pairs:
        """The sentence whose maps the frames hold (B = 1), without places beyond its ends; the same for every seed."""
        pairs = self.task.of(self.task.sample)
        n_source, n_rows = int(pairs.is_source.sum()), int((pairs.answers != NOTHING_ASKED).sum())
        return Pairs(
            *(part[:, :n_source] for part in pairs[:2]),
            *(part[:, :n_rows] for part in pairs[2:]),
        )

    @property
    def source(self) -> tuple[str, ...]:
        """The words of the example: N_k columns."""
        return self.task.source_words(self.example.source[0])

    @property
    def rows(self) -> tuple[str, ...]:
        """What each row must write: N_q target words, the end mark last."""
        return self.task.target_words(self.example.answers[0])

    @property
    def links(self) -> tuple[int, ...]:
        """For each row the source word that its word translates, from 0; −1 for the end mark's."""
        return tuple(self.example.links[0].tolist())

    def _loss(self) -> Tensor:
        pairs = self.task.batch(self._generator, self.settings.batch)
        return loss_of(read(self.network, pairs)[0], pairs.answers)

    @torch.no_grad()
    def _look(self) -> None:
        logits, output = read(self.network, self._held_out)
        written, example = write(self.network, self._held_out), self.example
        self.curve.append(
            TranslatePoint(
                self.step_number,
                float(loss_of(logits, self._held_out.answers)),
                float(_are_right(written, self._held_out.answers).float().mean()),
                _share_right(logits, self._held_out.answers),
            )
        )
        words = self.task.target_words(write(self.network, example)[0])
        self.frames.append(
            TranslateFrame(
                self.step_number,
                read(self.network, example)[1].cross[:, 0].numpy().copy(),
                measure(output.cross, self._held_out),
                words[: words.index("</s>")] if "</s>" in words else words,
            )
        )

    @cached_property
    def _test(self) -> Pairs:
        return self.task.batch(stream(self.settings.seed, TEST), N_TEST, held_out=True)

    @torch.no_grad()
    def test(self) -> TranslateTest:
        """The final numbers."""
        pairs = self._test
        logits, output = read(self.network, pairs)
        is_right = _are_right(write(self.network, pairs), pairs.answers)
        return TranslateTest(
            float(is_right.float().mean()),
            _share_right(logits, pairs.answers),
            measure(output.cross, pairs),
            straight_across(pairs),
            by_chance(pairs),
        )

    @torch.no_grad()
    def switched_off(self) -> WithoutHead:
        """What is left of each word class when one head of cross-attention alone is switched off, for every head."""
        heads = self.settings.heads
        without = np.empty((1, heads, len(CLASSES)), dtype=np.float32)
        for head in range(heads):
            factors = torch.ones(1, heads)
            factors[0, head] = 0.0
            without[0, head] = self._by_class(factors)
        return WithoutHead(without, self._by_class(None))

    def _by_class(self, factors: Tensor | None) -> Singles:
        """Words right of each class, the words before each given: (4,)."""
        logits, _ = read(self.network, self._test, cross_head_mask=factors)
        is_right = logits.argmax(dim=-1) == self._test.answers  # (B, N_q)
        kinds = [self._test.classes == kind for kind in range(len(CLASSES))]
        return np.array([float(is_right[kind].float().mean()) for kind in kinds], dtype=np.float32)


def read(
    network: EncoderDecoder, pairs: Pairs, *, cross_head_mask: Tensor | None = None
) -> tuple[Tensor, EncoderDecoderOutput]:
    """The scores of each row's word (B, N_q, V), all words before it given, and the maps. Padding is seen by nobody."""
    visible = pairs.is_source[:, None, None]  # (B, 1, 1, N_k)
    output = network(pairs.source, pairs.target, visible, None, visible, cross_head_mask=cross_head_mask)
    return network.logits(output.hidden), output


@torch.no_grad()
def write(network: EncoderDecoder, pairs: Pairs) -> Tensor:
    """What the network writes by itself, the likeliest word each time: (B, N_q). Only the sources are read."""
    visible = pairs.is_source[:, None, None]
    context = network.encoder(pairs.source, visible).hidden  # (B, N_k, d_model)
    ids = torch.full((len(pairs.source), 1), START)
    for _ in range(MOST_TARGET):
        hidden = network.decoder(ids, context, None, visible).hidden[:, -1]  # (B, d_model)
        ids = torch.cat([ids, network.logits(hidden).argmax(dim=-1, keepdim=True)], dim=-1)
    return ids[:, 1:]


def loss_of(logits: Tensor, answers: Tensor) -> Tensor:
    """Mean cross-entropy in nats: logits (B, N_q, V), answers (B, N_q)."""
    return F.cross_entropy(logits.flatten(0, 1), answers.flatten(), ignore_index=NOTHING_ASKED)


def _are_right(written: Tensor, answers: Tensor) -> Tensor:
    """Which sentences are right to the end mark: (B,). What comes after it isn't looked at."""
    return ((written == answers) | (answers == NOTHING_ASKED)).all(dim=-1)


def _share_right(logits: Tensor, answers: Tensor) -> float:
    asked = answers != NOTHING_ASKED
    return float(((logits.argmax(dim=-1) == answers) & asked).sum() / asked.sum())
