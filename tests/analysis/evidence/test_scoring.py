"""Runs over a corpus: the same whatever the batch, under masks and controls, stopped and gone on."""

import json
from dataclasses import replace

import numpy as np
import pytest

from analysis.evidence.arrows import NOWHERE, word_pieces
from analysis.evidence.batches import batches, questions
from analysis.evidence.controls import mask_id, untrained
from analysis.evidence.corpora.annotated import lay_out
from analysis.evidence.corpora.corpus import Corpus, read_content
from analysis.evidence.dependencies import score_dependencies
from analysis.evidence.one_sentence import word_maps_of
from analysis.evidence.report import report
from analysis.evidence.resume import Store
from analysis.evidence.scoring import Conditions, score, writings_of
from model import HeadworkError, Mask
from model.tokenizers.tokenizer_json import FastTokenizer
from tests.models import END, LLAMA_LIKE, load, tiny_decoder

TEXTS = (
    "The old farmer sold his horse .",
    "Stop",
    "She did n't know that the children had eaten the cake which her mother baked .",
    "Birds sing",
    "We can not go .",
) * 6


def chain(words):
    """Each word depends on the next; the last is the root."""
    n = len(words)
    return {"words": words, "heads": [*range(1, n), -1], "deprels": ["det", "obj"] * (n // 2) + ["root"] * (n % 2)}


def lines():
    for text in TEXTS:
        yield chain(text.split())
    words = ["Ann", "met", "Tom", "because", "he", "liked", "the", "dog", "and", "it", "liked", "him", "."]
    upos = ["PROPN", "VERB", "PROPN", "SCONJ", "PRON", "VERB", "DET", "NOUN", "CCONJ", "PRON", "VERB", "PRON", "PUNCT"]
    yield {"words": words, "upos": upos, "pronoun": 9, "candidates": [0, 2, 4, 7], "antecedents": [7]}
    yield {"words": words, "upos": upos, "pronoun": 11, "candidates": [0, 2, 4, 7, 9], "antecedents": [2, 4]}


@pytest.fixture(scope="module")
def corpus():
    found = read_content("made.jsonl", "\n".join(json.dumps(line) for line in lines()).encode())
    assert not found.problems
    return found


@pytest.fixture(scope="module")
def whole(minilm, corpus):
    return score(minilm, corpus)


def test_a_batch_changes_nothing(minilm, corpus, whole):
    for i in (0, 1, 2, 4):
        alone = score(minilm, Corpus(sentences=(corpus.sentences[i],)))
        start, end = whole.arrows.starts[i : i + 2]
        np.testing.assert_array_equal(alone.arrows.target, whole.arrows.target[start:end])


def test_the_order_of_the_corpus_is_kept(minilm, corpus, whole):
    turned = score(minilm, replace(corpus, sentences=corpus.sentences[::-1]))
    assert turned.sentences == corpus.sentences[::-1]
    parts = [whole.arrows.target[a:b] for a, b in zip(whole.arrows.starts, whole.arrows.starts[1:], strict=False)]
    np.testing.assert_array_equal(turned.arrows.target, np.concatenate(parts[::-1]))


def test_batches_are_sorted_by_length_and_bounded(minilm, corpus):
    from analysis.evidence.scoring import prepare

    examples = [*corpus.sentences, *corpus.passages]
    prepared, _ = prepare(minilm, examples, writings_of(examples), None, lambda done, total: None)
    made = list(batches(prepared, len(corpus.sentences)))
    assert sorted(i for batch in made for i in batch) == list(range(len(corpus.sentences) + 2))
    assert all(len(batch) <= 16 for batch in made)
    lengths = [len(prepared[i].ids) for batch in made[:-1] for i in batch]
    assert lengths == sorted(lengths) and made[-1] == [30, 31]


def test_one_word_points_nowhere_and_has_no_arc(whole):
    start = whole.arrows.starts[1]
    assert (whole.arrows.target[start] == NOWHERE).all()


def test_no_word_ever_points_at_itself(whole):
    sizes = np.diff(whole.arrows.starts)
    own = np.concatenate([np.arange(n) for n in sizes])
    assert not (whole.arrows.target == own[:, None, None]).any()


def test_under_a_causal_mask_arrows_go_back_and_the_first_word_has_none(minilm, corpus):
    run = score(minilm, corpus, Conditions.of("causal"))
    sizes = np.diff(run.arrows.starts)
    own = np.concatenate([np.arange(n) for n in sizes])
    assert (run.arrows.target < own[:, None, None]).all()
    assert {each.direction for each in score_dependencies(run).relations} == {"head>dep"}  # every head comes later


def test_restricted_arrows_use_the_bidirectional_weights(minilm, corpus, whole):
    run = score(minilm, corpus, Conditions.of(restrict="causal"))
    target = run.arrows.target[: run.arrows.starts[1]]
    trace = minilm.trace(TEXTS[0])
    content = trace.attention[:, :, 1:-1, 1:-1]  # every word is one piece
    assert content.shape[-1] == len(target) == 7
    earlier = np.tril(np.ones((7, 7), dtype=bool), -1)
    expected = np.where(earlier, content, -1).argmax(axis=-1)
    np.testing.assert_array_equal(np.moveaxis(target, 0, -1)[..., 1:], expected[..., 1:])


def test_padding_masks_change_nothing(minilm, corpus, whole):
    run = score(minilm, corpus, Conditions.of("padding:32"))
    np.testing.assert_array_equal(run.arrows.target, whole.arrows.target)


def test_a_gate_changes_later_layers_only(minilm, corpus, whole):
    head_mask = np.ones((6, 12), dtype=np.float32)
    head_mask[0] = 0
    run = score(minilm, corpus, Conditions(head_mask=head_mask))
    np.testing.assert_array_equal(run.arrows.target[:, 0], whole.arrows.target[:, 0])
    assert (run.arrows.target[:, 1:] != whole.arrows.target[:, 1:]).mean() > 0.05


def test_candidates_are_chosen_by_the_pronouns_weight_on_their_head_words(minilm, whole):
    passage = whole.passages[1]
    trace = minilm.trace(" ".join(passage.words))
    row = trace.attention[:, :, 1 + passage.pronoun][..., [1 + c for c in passage.candidates]]  # (L, h, C)
    place = np.searchsorted(whole.choices.passage, 1)
    np.testing.assert_array_equal(whole.choices.picks["all"][place], row.argmax(axis=-1))
    row[..., [2, 4]] = -1  # he, it
    np.testing.assert_array_equal(whole.choices.picks["noun"][place], row.argmax(axis=-1))
    assert questions(passage) == [11, 10, 12]


def test_written_text_keeps_contractions_together(minilm):
    line = {"words": ["I", "do", "n't", "know"], "heads": [3, 3, 3, -1], "deprels": ["nsubj", "aux", "advmod", "root"]}
    corpus = read_content("x.jsonl", json.dumps(line | {"space_after": [1, 0, 1, 0]}).encode())
    written, apart = (score(minilm, corpus, Conditions(writing=writing)) for writing in ("written", "apart"))
    assert corpus.sentences[0].text == "I don't know"
    assert (written.arrows.target != apart.arrows.target).any()
    assert score_dependencies(written).of("aux", "dep>head").n == 1


def test_arcs_of_words_in_one_piece_are_left_out_and_counted(minilm):
    words = ["I", "can", "not", "see", "old", "dogs"]
    line = {"words": words, "heads": [3, 3, 3, -1, 5, 3], "deprels": ["nsubj", "aux", "advmod", "root", "amod", "obj"]}
    corpus = read_content("x.jsonl", json.dumps(line | {"space_after": [1, 0, 1, 1, 1, 0]}).encode())
    run = score(minilm, corpus, Conditions(writing="written"))
    assert run.arrows.unclear.tolist() == [False, True, True, False, False, False]
    scores = score_dependencies(run)
    assert {each.relation for each in scores.relations} == {"nsubj", "amod", "obj"}
    assert (scores.n_arcs, scores.n_unclear, scores.n_arrows) == (5, 2, 4)
    assert scores.n_incomplete == 0  # the head's only "aux" is unclear: nothing is asked of it anyway
    apart = score_dependencies(score(minilm, corpus))
    assert apart.n_unclear == 0 and apart.of("advmod", "dep>head").n == 1


CHINESE = {
    "words": ["猫", "吃", "鱼", "。"],
    "heads": [1, -1, 1, 1],
    "deprels": ["nsubj", "root", "obj", "punct"],
    "space_after": [0, 0, 0, 0],
}


def test_text_without_spaces_is_read_as_it_is_written_and_other_text_word_by_word(minilm, corpus):
    chinese = read_content("zh.jsonl", json.dumps(CHINESE).encode())
    assert chinese.sentences[0].text == "猫吃鱼。"
    both = [*corpus.sentences, *chinese.sentences]
    assert writings_of(both) == ["apart"] * len(corpus.sentences) + ["written"]
    assert writings_of(both, "apart") == ["apart"] * len(both)
    spaced = read_content("zh.jsonl", json.dumps(CHINESE | {"space_after": [1, 1, 1, 1]}).encode())
    assert writings_of(spaced.sentences) == ["apart"]
    assert score(minilm, corpus + chinese).writing == "apart and written"
    assert score(minilm, chinese).writing == "written" and score(minilm, corpus).writing == "apart"


def test_a_word_that_no_piece_stands_for_has_no_arc_that_could_be_scored(minilm):
    line = {"words": ["Dogs", "\u200d", "bark"], "heads": [2, 2, -1], "deprels": ["nsubj", "discourse", "root"]}
    run = score(minilm, read_content("x.jsonl", json.dumps(line).encode()))
    assert (run.arrows.of_sentence(0)[1] == NOWHERE).all()
    assert {each.relation for each in score_dependencies(run).relations} == {"nsubj"}


def test_a_text_beyond_the_token_limit_is_skipped_and_said(minilm, corpus):
    long = read_content("long.jsonl", json.dumps(chain(["word"] * 600)).encode())
    run = score(minilm, corpus + long)
    (problem,) = run.skipped
    assert (problem.file, problem.line) == ("long.jsonl", 1) and "602 tokens" in problem.reason
    assert len(run.sentences) == len(corpus.sentences)
    assert report(run, corpus + long)["skipped"]["count"] == 1


def test_a_decoder_reads_each_text_after_its_mark_under_the_mask_of_its_training(corpus):
    decoder = tiny_decoder(replace(LLAMA_LIKE, max_tokens=400))
    decoder.tokenizer = FastTokenizer(decoder.tokenizer.backend, {"bos_token": END})
    few = Corpus(corpus.sentences[2:6:2], corpus.passages[:2])
    run = score(decoder, few)
    assert (run.start, str(run.conditions.mask)) == (END, "causal")
    for number, sentence in enumerate(run.sentences):
        text, spans = lay_out(sentence.words, [True] * len(sentence.words))
        maps = word_maps_of(decoder.trace(END + text), sentence.words, spans, start=END)
        np.testing.assert_array_equal(run.arrows.of_sentence(number), maps.target)
        assert maps.spans == tuple(spans)
        below = np.tril(np.ones((len(sentence.words),) * 2, dtype=bool))
        assert (run.arrows.visible[number] == below).all()
    about = report(run, few)["provenance"]
    assert (about["start"], about["mask"]) == (END, "causal")
    plain = score(tiny_decoder(replace(LLAMA_LIKE, max_tokens=400)), few)
    assert plain.start == "" and "start" not in report(plain, few)["provenance"]
    assert (plain.arrows.target != run.arrows.target).any()  # the first word is a sink no more


def test_without_training_a_decoder_keeps_its_mask_and_its_norms(corpus):
    run = score(tiny_decoder(), Corpus(corpus.sentences[:1]), Conditions(control="untrained"))
    assert str(run.conditions.mask) == "causal"
    random = untrained(tiny_decoder())
    assert all((block.attention_norm.gamma == 1).all() for block in random.transformer.blocks)


def test_nothing_to_score_and_drawn_masks_are_errors(minilm, corpus):
    with pytest.raises(HeadworkError, match="no sentence"):
        score(minilm, Corpus())
    with pytest.raises(HeadworkError, match="drawn"):
        score(minilm, corpus, Conditions(Mask.matrix([[True]])))


def test_masks_in_place_of_words_leave_nothing_but_position(minilm):
    texts = ["big dogs bark loudly", "we can see stars"]
    corpus = read_content("x.jsonl", "\n".join(json.dumps(chain(t.split())) for t in texts).encode())
    run = score(minilm, corpus, Conditions(control="mask"))
    np.testing.assert_array_equal(run.arrows.target[:4], run.arrows.target[4:])
    with pytest.raises(HeadworkError, match=r"\[MASK\]"):
        mask_id(replace_tokenizer(minilm))


def replace_tokenizer(model):
    class Plain:
        id, label, token_limit = "x", "X", 64

        class tokenizer:
            @staticmethod
            def encode(text, *, limit):
                return load("toy").tokenizer.encode("no such token", limit=limit)

    return Plain()


def test_untrained_weights_follow_the_seed_and_make_uneven_maps(minilm):
    a, b, c = untrained(minilm, 0), untrained(minilm, 0), untrained(minilm, 1)
    maps = [model.trace("The cat sat on the mat.").attention for model in (a, b, c)]
    np.testing.assert_array_equal(maps[0], maps[1])
    assert np.abs(maps[0] - maps[2]).max() > 0.01 and maps[0].std(axis=-1).min() > 1e-4
    assert not a.trained and a.sha256 is None and "untrained" in a.label


def test_the_toy_model_can_be_scored(corpus):
    run = score(load("toy"), corpus)
    assert run.arrows.target.shape[1:] == (2, 4) and len(run.passages) == 2


class Stop(Exception):
    pass


def test_progress_can_stop_a_run_and_counts_to_the_end(minilm, corpus):
    seen = []
    score(minilm, corpus, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (32, 32) and seen == sorted(seen)

    def stop(done, total):
        if done:
            raise Stop

    with pytest.raises(Stop):
        score(minilm, corpus, progress=stop)


def test_a_stopped_run_goes_on_with_what_it_has(minilm, corpus, whole, tmp_path, monkeypatch):
    def stop(done, total):
        if done >= 20:
            raise Stop

    store = Store(tmp_path / "run")
    with pytest.raises(Stop):
        score(minilm, corpus, progress=stop, store=store)
    n_done = len(list((tmp_path / "run").glob("batch-*.npz")))
    assert 0 < n_done < 3

    from analysis.evidence.batches import Runner

    ran = []
    original = Runner.run
    monkeypatch.setattr(Runner, "run", lambda self, *args: ran.append(1) or original(self, *args))
    resumed = score(minilm, corpus, store=Store(tmp_path / "run"))
    assert len(ran) == 3 - n_done
    assert json.dumps(report(resumed, corpus)) == json.dumps(report(whole, corpus))


def test_batches_of_another_run_or_broken_ones_are_not_used(minilm, corpus, whole, tmp_path):
    score(minilm, corpus, Conditions.of("causal"), store=Store(tmp_path))
    again = score(minilm, corpus, store=Store(tmp_path))
    np.testing.assert_array_equal(again.arrows.target, whole.arrows.target)
    (tmp_path / "batch-000000.npz").write_bytes(b"half a file")
    again = score(minilm, corpus, store=Store(tmp_path))
    np.testing.assert_array_equal(again.arrows.target, whole.arrows.target)
    store = Store(tmp_path)
    store.remove()
    assert not tmp_path.exists()


def test_the_bare_mark_before_chinese_text_is_no_part_of_its_first_word():
    """▁ stands for no character. Counted with the first word it would draw arrows there: heads rest on it."""
    try:
        tokens = load("e5-small-4bit").tokenizer.encode("爸爸在花园", limit=64)
    except HeadworkError as error:
        pytest.skip(str(error))
    assert tokens.pieces == ("<s>", "▁", "爸爸", "在", "花园", "</s>")
    assert word_pieces(tokens, [(0, 2), (2, 3), (3, 5)]) == ((2,), (3,), (4,))
