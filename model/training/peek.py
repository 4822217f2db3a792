"""Training a language model on Peek under one mask: what it foretells, and what it only reads off.

    run = Peeking(PeekSettings(mask="bidirectional"))
    run.step(run.settings.steps)
    run.curve[-1]            PeekPoint(step, loss, accuracy): nats a word, beside run.task.floor (ln 2)
    run.frames[-1]           PeekFrame: step, maps (L, h, N, N) of the example, answer and before (L, h), loss_by_place
    run.words, run.answers   the example as it is read (rows and columns), and the word that each row must foretell
    run.test()               PeekTest on 1,024 fresh texts, and what it writes by itself

Row i reads word i and must foretell word i + 1, which under a mask that shows it stands one column to the right: the
line above the diagonal. Batches are padded: texts have one to three sentences, and no query sees padding. Under
`prefix:K` the first K places are read both ways; their rows see their answers, so they aren't asked (`settings.first`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from model.attention import check_heads
from model.errors import HeadworkError, check_whole_numbers
from model.masks import Mask, parse_mask
from model.tasks.peek import MOST_SENTENCES, N_PLACES, PEEK, Peek, Texts
from model.tasks.task import NOTHING_ASKED, find_task
from model.training.alignment import Singles
from model.training.frames import steps_to_look_at
from model.training.network import fresh
from model.training.run import HELD_OUT, TEST, WEIGHTS, Run, stream
from model.training.settings import BOUNDS, D_FF, check_rate
from model.transformer import Transformer, TransformerConfig

N_HELD_OUT = 128  # texts behind each frame
N_TEST = 1024  # texts behind the final numbers
N_WRITTEN = 256  # texts that are written
MASKS = ("causal", "bidirectional", "prefix:5")  # the last: the start mark and the first sentence are read both ways
LONGEST_PREFIX = N_PLACES - 3  # so that a whole sentence is left to foretell
_BOUNDS = {name: BOUNDS[name] for name in ("heads", "layers", "steps", "seed", "d_model", "batch")}


@dataclass(frozen=True)
class PeekSettings:
    """One training run. Two runs with equal settings are equal, number by number, on one machine.

    Attributes:
        mask: its spelling; see model.masks. One that fits texts of any length: none drawn by hand, none with padding.
        ffn: a feed-forward network of 64 units after attention, with normalisation; without, a block is attention and
            its residual.

    Raises:
        HeadworkError: a number out of bounds, heads that don't divide d_model, an unfitting mask.
    """

    task: str = PEEK.id
    mask: str = "causal"
    heads: int = 1
    layers: int = 1
    ffn: bool = False
    steps: int = 800
    learning_rate: float = 1e-2
    seed: int = 0
    d_model: int = 32
    batch: int = 64

    def __post_init__(self) -> None:
        """Checks everything, and brings the mask into its one spelling."""
        find_task({PEEK.id: PEEK}, self.task)
        check_whole_numbers(self, _BOUNDS)
        check_rate(self.learning_rate)
        check_heads(self.d_model, self.heads)
        mask = parse_mask(self.mask)
        if mask.padded_length is not None or mask.custom is not None or (mask.prefix_length or 0) > LONGEST_PREFIX:
            raise HeadworkError(
                "Texts of this task have up to {n} words and are padded as they need: choose causal, bidirectional, "
                "window:K, or prefix:K with K up to {most}.",
                n=N_PLACES,
                most=LONGEST_PREFIX,
            )
        object.__setattr__(self, "mask", str(mask))

    @property
    def rule(self) -> Peek:
        """The task itself."""
        return PEEK

    @property
    def allowed(self) -> Mask:
        """The mask itself."""
        return parse_mask(self.mask)

    @property
    def first(self) -> int:
        """The first row that is asked: 0, or with prefix:K row K − 1, whose answer is the first one not shown."""
        return (self.allowed.prefix_length or 1) - 1

    @property
    def config(self) -> TransformerConfig:
        """The Transformer that is trained, with its output matrix."""
        return TransformerConfig(
            vocab_size=len(PEEK.vocabulary),
            d_model=self.d_model,
            num_heads=self.heads,
            num_layers=self.layers,
            d_ff=D_FF if self.ffn else 0,
            max_tokens=N_PLACES,
            norm="pre" if self.ffn else "none",
            activation="relu",
            embedding_norm=False,
            final_norm=self.ffn,
            layer_norm_eps=1e-5,
            dropout=0.0,
            output="own",
        )


class PeekPoint(NamedTuple):
    """A point of the learning curve, on fresh texts, under the mask of the training."""

    step: int
    loss: float  # nats a word
    accuracy: float  # next words right


@dataclass(frozen=True, eq=False)
class PeekFrame:
    """Every head at one step.

    Attributes:
        maps: (L, h, N, N), of the example.
        answer: (L, h), mean weight on the word to be foretold, one to the right, over rows that leave a choice.
        before: (L, h), mean weight on the word one to the left, over the rows of verbs: there the subject stands,
            without which the object can't be foretold.
        loss_by_place: (N,), nats; NaN where nothing is asked.
    """

    step: int
    maps: Singles
    answer: Singles
    before: Singles
    loss_by_place: Singles


class PeekTest(NamedTuple):
    """The final numbers, on 1,024 fresh texts. Shares are of words.

    While generating, a word is right where the grammar allows it after the words that the network wrote before it, all
    drawn by its own probabilities; after a wrong word nothing is right until the sentence's four words are over.
    """

    loss: float  # nats a word, under the mask of the training
    teacher_forced: float  # next words right, the true words given, under the mask of the training
    teacher_forced_allowed: float  # likewise, next words that the grammar allows
    loss_alone: float  # nats a word where only the words so far exist: what writing rests on
    generating: float  # words right while it writes by itself
    sentences: float  # whole sentences right while it writes by itself
    written: tuple[tuple[str, ...], ...]  # the first three texts


class Peeking(Run[PeekSettings, Transformer, PeekPoint, PeekFrame]):
    """One language model that learns under one mask."""

    task = PEEK

    def __init__(self, settings: PeekSettings) -> None:
        with torch.inference_mode(False):
            network = fresh(lambda: Transformer(settings.config), stream(settings.seed, WEIGHTS))
            super().__init__(settings, network, steps_to_look_at(settings.steps))
            self._held_out = self._asked(PEEK.batch(stream(settings.seed, HELD_OUT), N_HELD_OUT))
        self._look()

    @cached_property
    def example(self) -> Texts:
        """The text whose maps the frames hold (B = 1): three sentences, the same for every seed and mask."""
        return self._asked(PEEK.batch(torch.Generator().manual_seed(0), 1, n_sentences=MOST_SENTENCES))

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the example as they are read: the N rows and columns."""
        return PEEK.words(self.example.ids[0])

    @property
    def answers(self) -> tuple[str, ...]:
        """The word that each row of the example must foretell."""
        return (*self.words[1:], PEEK.full_stops[0])

    def _asked(self, texts: Texts) -> Texts:
        """The texts with nothing asked where the mask of a prefix shows the answer."""
        targets = texts.targets.clone()
        targets[:, : self.settings.first] = NOTHING_ASKED
        return texts._replace(targets=targets)

    def read(self, ids: Tensor, is_padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The scores of what comes after each of N words (B, N, V), under the mask, and the maps (L, B, h, N, N)."""
        output = self.network(ids, self.settings.allowed.allowed(ids.size(1), is_padding))
        return self.network.logits(output.hidden), output.attention

    def _loss(self) -> Tensor:
        texts = self._asked(PEEK.batch(self._generator, self.settings.batch))
        return loss_of(self.read(texts.ids, texts.is_padding)[0], texts.targets)

    @torch.no_grad()
    def _look(self) -> None:
        texts = self._held_out
        logits, attention = self.read(texts.ids, texts.is_padding)
        is_asked = texts.targets != NOTHING_ASKED
        point = PeekPoint(self.step_number, float(loss_of(logits, texts.targets)), _share_right(logits, texts.targets))
        self.curve.append(point)
        row = torch.arange(N_PLACES) % len(PEEK.choices)  # which word of its sentence a row must foretell
        has_choice = is_asked & (torch.tensor(PEEK.choices)[row] > 1)
        self.frames.append(
            PeekFrame(
                self.step_number,
                self.read(self.example.ids)[1][:, 0].numpy().copy(),
                _weight_at(attention, 1, has_choice),
                _weight_at(attention, -1, is_asked & (row == 2)),
                _loss_by_place(logits, texts.targets),
            )
        )

    @cached_property
    def _test(self) -> Texts:
        return self._asked(PEEK.batch(stream(self.settings.seed, TEST), N_TEST))

    @torch.no_grad()
    def test(self) -> PeekTest:
        """The final numbers."""
        texts, first = self._test, self.settings.first
        logits, _ = self.read(texts.ids, texts.is_padding)
        written = self.write(N_WRITTEN)
        is_right = _allowed(written)  # (B, N)
        whole = is_right.view(len(written), -1, len(PEEK.choices)).all(dim=-1)  # (B, sentences)
        return PeekTest(
            loss=float(loss_of(logits, texts.targets)),
            teacher_forced=_share_right(logits, texts.targets),
            teacher_forced_allowed=_share_allowed(texts, logits.argmax(dim=-1)),
            loss_alone=self._loss_alone(texts),
            generating=float(is_right[:, first:].float().mean()),
            sentences=float(whole[:, -(-first // len(PEEK.choices)) :].float().mean()),
            written=tuple(PEEK.words(row) for row in written[:3]),
        )

    @torch.no_grad()
    def write(self, n: int) -> Tensor:
        """`n` texts of N words each, drawn word by word from what the network expects: (n, N), the start left out.

        It is given the start mark only, or as many words of a true text as a prefix has.
        """
        generator = stream(self.settings.seed, TEST)
        given = self.settings.first + 1
        ids = PEEK.batch(generator, n, n_sentences=MOST_SENTENCES).ids[:, :given]  # (n, words so far)
        while ids.size(1) <= N_PLACES:
            expected = self.read(ids)[0][:, -1].softmax(dim=-1)  # (n, V)
            ids = torch.cat([ids, torch.multinomial(expected, 1, generator=generator)], dim=-1)
        return ids[:, 1:]

    def _loss_alone(self, texts: Texts) -> float:
        """Nats a word where each text ends with the word that is read: nothing to the right, whatever the mask."""
        last = [self.read(texts.ids[:, :n], texts.is_padding[:, :n])[0][:, -1] for n in range(1, N_PLACES + 1)]
        return float(loss_of(torch.stack(last, dim=1), texts.targets))


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats: logits (B, N, V), targets (B, N)."""
    total = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NOTHING_ASKED, reduction="sum")
    return total / (targets != NOTHING_ASKED).sum().clamp(min=1)  # a prefix may leave nothing of a small batch


def _loss_by_place(logits: Tensor, targets: Tensor) -> Singles:
    """(N,)."""
    losses = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=NOTHING_ASKED, reduction="none")  # (B, N)
    return (losses.sum(dim=0) / (targets != NOTHING_ASKED).sum(dim=0)).numpy()


def _share_right(logits: Tensor, targets: Tensor) -> float:
    is_asked = targets != NOTHING_ASKED
    return float(((logits.argmax(dim=-1) == targets) & is_asked).sum() / is_asked.sum())


def _weight_at(attention: Tensor, offset: int, rows: Tensor) -> Singles:
    """Mean weight (L, h) that rows (B, N) give the key at an offset. Rows without such a key aren't counted."""
    diagonal = attention.diagonal(offset, -2, -1)  # (L, B, h, N − 1)
    meant = rows[:, :-1] if offset > 0 else rows[:, 1:]  # (B, N − 1)
    return ((diagonal * meant[None, :, None]).sum(dim=(1, 3)) / meant.sum()).numpy()


def _allowed(written: Tensor) -> Tensor:
    """Which words (B, N) the grammar allows after those before them."""
    rows = [[word in PEEK.allowed_next(tuple(row[:i])) for i, word in enumerate(row)] for row in written.tolist()]
    return torch.tensor(rows)


def _share_allowed(texts: Texts, guessed: Tensor) -> float:
    """The share of guesses (B, N) that the grammar allows after the true words."""
    is_asked = texts.targets != NOTHING_ASKED
    n_right = 0
    for ids, words, asked in zip(texts.ids.tolist(), guessed.tolist(), is_asked.tolist(), strict=True):
        n_right += sum(words[i] in PEEK.allowed_next(tuple(ids[1 : i + 1])) for i in range(len(words)) if asked[i])
    return n_right / int(is_asked.sum())
