"""The parser: only the relations on which it can be relied, in UD's names; help where it is absent."""

import pytest

from analysis.evidence import parsing
from analysis.evidence.parsing import NoParser, is_there, parse

needs_parser = pytest.mark.skipif(not is_there(), reason=f"the parser is not installed: {parsing.INSTALL}")


def arcs(text):
    found = parse(text)
    return {(found.words[a.asking], found.words[a.wanted], a.relation) for a in found.links}


@needs_parser
def test_the_relations_it_gives():
    assert arcs("The old captain opened his wooden box in the room.") == {
        ("The", "captain", "det"),
        ("old", "captain", "amod"),
        ("his", "box", "nmod:poss"),
        ("wooden", "box", "amod"),
        ("box", "opened", "obj"),
        ("in", "room", "case"),
        ("the", "room", "det"),
    }


@needs_parser
def test_the_passive_has_its_auxiliary_and_no_subject():
    found = arcs("The thief was seen by the guard.")
    assert ("was", "seen", "aux:pass") in found and ("by", "guard", "case") in found
    assert not [each for each in found if each[2].startswith("nsubj")]


@needs_parser
@pytest.mark.parametrize("text", ["", "   ", "我爱你。", "🙂", "a\n\n b", "<b>x</b> $y$", "x" * 5000])
def test_any_text_is_parsed_and_spans_are_the_words_characters(text):
    found = parse(text)
    assert all(found.text[a:b] == word for word, (a, b) in zip(found.words, found.spans, strict=True))
    assert len(found.text) <= parsing.MOST_CHARACTERS


def test_where_it_is_absent_an_error_says_how_to_add_it(monkeypatch):
    monkeypatch.setattr(parsing, "PACKAGE", "no_such_parser_anywhere")
    parsing._pipeline.cache_clear()
    try:
        assert not is_there()
        with pytest.raises(NoParser, match="pip install spacy"):
            parse("A dog barked.")
    finally:
        monkeypatch.undo()
        parsing._pipeline.cache_clear()
