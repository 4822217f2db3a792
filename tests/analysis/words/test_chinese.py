"""Chinese words by jieba and by spaces: worked by hand, what holds of any text, and what loading it costs."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.words import chinese
from analysis.words.chinese import NoSegmenter, has_chinese, is_pronoun, part
from model.tokenizers.tokenizer_json import is_han

SENTENCE = "小明把苹果递给了小红，因为她帮过他。"


def words(text):
    return [text[start:end] for start, end in part(text).words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SENTENCE, "小明 把 苹果 递给 了 小红 因为 她 帮过 他"),
        ("小明把蘋果遞給了小紅，因為她幫過他。", "小明 把 蘋果 遞給 了 小紅 因為 她 幫過 他"),
        ("爸爸把伞递给了妈妈。", "爸爸 把 伞 递给 了 妈妈"),
        ("我用Python3写了一个Transformer模型，准确率是95.5%！", "我 用 写 了 一个 模型 准确率 是"),
        ("他说：“今天……好冷——真的。”", "他 说 今天 好 冷 真的"),
        ("「你好」（世界）２０２４年", "你好 世界 年"),
        ("😀小明笑了👨‍👩‍👧", "小明 笑 了"),
        ("中\n文", "中 文"),
    ],
)
def test_words_by_jieba(text, expected):
    assert words(text) == expected.split()
    assert part(text).by == ("jieba",)


def test_a_pronoun_is_no_part_of_a_made_up_name():
    import rjieba

    assert "他病" in rjieba.cut("因为他病了") and "他于" in rjieba.cut("他于一九九零年")  # so jieba alone
    assert words("因为他病了，所以她没来。") == ["因为", "他", "病", "了", "所以", "她", "没来"]
    assert words("他于一九九零年") == ["他", "于", "一九九零年"]
    assert words("其他人和他的吉他手") == ["其他人", "和", "他", "的", "吉他手"]  # words of the dictionary stay whole


@pytest.mark.parametrize(
    ("text", "expected", "by"),
    [
        # A single space adds a border; jieba parts the rest. It corrects jieba, which reads 明说 here.
        ("小明说他好", "小 明说 他 好", ("jieba",)),
        ("小明 说他好", "小明 说 他 好", ("jieba", "spaces")),
        ("因为他 病了", "因为 他 病 了", ("jieba", "spaces")),
        ("床前明月光 疑是地上霜", "床前 明月光 疑是 地上 霜", ("jieba", "spaces")),
        # Who parts nearly all words has said what the words are.
        ("小明 把 苹果 递给了 小红", "小明 把 苹果 递给了 小红", ("spaces",)),
        ("小明　把　苹果　递给了　小红", "小明 把 苹果 递给了 小红", ("spaces",)),  # U+3000
        ("小明 把 苹果 递给了 小红，因为她帮过他。", "小明 把 苹果 递给了 小红 因为 她 帮过 他", ("jieba", "spaces")),
        # Spaces around Latin words part no Chinese.
        ("我 用 Python 写代码", "我 用 写 代码", ("jieba", "spaces")),
        ("用 Python 写代码", "用 写 代码", ("jieba",)),
    ],
)
def test_the_persons_own_spaces(text, expected, by):
    assert words(text) == expected.split()
    assert part(text).by == by


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("日本語のテストです。", []),
        ("私は東京タワーへ行きます", []),
        ("한국어 테스트", []),
        ("他喜欢カラオケ。", ["他", "喜欢"]),
        ("他说사랑해。", ["他", "说"]),
        ("The cat sat.", []),
        ("", []),
    ],
)
def test_kana_and_hangul_are_not_chinese(text, expected):
    assert words(text) == expected
    assert has_chinese(text) is bool(expected)


def test_a_variation_selector_stays_with_its_character():
    text = "葛\U000e0100城 𠀀𠀁字"
    assert "".join(words(text)) == text.replace(" ", "")
    assert not any(word.startswith("\U000e0100") for word in words(text))


@pytest.mark.parametrize(
    ("word", "expected"),
    [("他", True), ("她们", True), ("它們", True), ("您", True), ("小明", False), ("其他", False), ("", False)],
)
def test_pronouns(word, expected):
    assert is_pronoun(word) is expected


ALPHABET = (
    "小明红把苹果递给了因为她帮过他病我们你 　\n，。“”（）abc1٣あアー한😀\u200d\u0301々〇𠀀葛\ufe00\U000e0100蘋遞"
)


@given(st.text(st.sampled_from(ALPHABET), max_size=30))
def test_words_of_any_text(text):
    found = part(text)
    inside = [False] * len(text)
    for start, end in found.words:
        assert 0 <= start < end <= len(text)
        assert is_han(text[start]) and not any(character.isspace() for character in text[start:end])
        assert not any(inside[start:end])  # no character is in two words
        inside[start:end] = [True] * (end - start)
    assert list(found.words) == sorted(found.words)
    if not any("\u3040" <= character <= "\u30ff" or character == "々" for character in text):
        assert all(flag for character, flag in zip(text, inside, strict=True) if is_han(character))
    assert bool(found.by) == bool(found.words) == has_chinese(text)


# -- loading ---------------------------------------------------------------------------------------------------------


def run(script, **options):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_it_is_loaded_only_for_chinese():
    script = """
import sys
from analysis import by_words
from analysis.words.chinese import is_ready
from tests.models import load
toy = load("toy:d_model=8,heads=2,layers=1")
by_words(toy.trace("The cat sat. 日本語の"))
print("rjieba" in sys.modules, is_ready())
print(by_words(toy.trace("小明笑了")).labels[0], is_ready())
"""
    assert run(script) == ["False", "False", "小明", "True"]


def test_it_writes_no_file_and_costs_little(tmp_path):
    script = """
import time
from pathlib import Path
from analysis.words import chinese
statm = Path("/proc/self/statm")
def resident():
    return int(statm.read_text().split()[1]) * 4096 / 1e6 if statm.is_file() else 0
before, start = resident(), time.process_time()
chinese.part("小明笑了")
print(time.process_time() - start, resident() - before)
"""
    root = Path(chinese.__file__).parents[2]
    home = {name: str(tmp_path) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")} | {"PYTHONPATH": str(root)}
    seconds, megabytes = map(float, run(script, cwd=tmp_path, env={**os.environ, **home}))
    assert list(tmp_path.iterdir()) == []
    assert seconds < 1 and megabytes < 60, (seconds, megabytes)  # benchmarks/chinese_words.py: 0.1 s and 35 MB


def test_many_threads_at_once_find_the_same_words():
    script = """
import threading
from analysis.words import chinese
found, gate = [], threading.Barrier(16)
def ask():
    gate.wait()  # the first one loads it
    found.append(chinese.part("小明把苹果递给了小红，因为她帮过他。"))
threads = [threading.Thread(target=ask) for _ in range(16)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(len(found), len(set(found)))
"""
    assert run(script) == ["16", "1"]
    found = []
    threads = [threading.Thread(target=lambda: found.extend(part(SENTENCE) for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 400 and len(set(found)) == 1


def test_without_the_segmenter_one_is_told_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, chinese.PACKAGE, None)
    with pytest.raises(NoSegmenter, match="pip install rjieba"):
        part(SENTENCE)
    assert part("The cat sat.").words == ()
