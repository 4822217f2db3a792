"""A sentence of one's own: links by a parser or by hand, and what can honestly be said about one of them."""

import streamlit as st

from analysis.evidence import parsing
from analysis.evidence.one_sentence import Link, WordMaps, hits_and_misses, offset_of, pointing
from analysis.evidence.parsing import NoParser
from analysis.evidence.records import COREFERENCE, GENDER, Table
from analysis.words.chinese import is_chinese, is_pronoun
from analysis.words.spans import Span
from model import Mask
from ui.frame import chinese_words, examples, loading
from ui.frame.captions import small
from ui.frame.choose import translated
from ui.frame.languages import _, explain, plain
from ui.frame.unread import unread
from ui.heads import data, used
from ui.heads.choices import View, choose
from ui.heads.drawing import Shown, draw, link_name
from ui.heads.words import RELATIONS, baseline_label, head_claim, origin, task_name

WAYS = {"hand": "Link two words by hand", "parser": "Parse the sentence"}
ARCS = {"hand": "your link", "parser": "parsed arc"}
PRONOUNS = ("coref", GENDER)
LINK_NAMES = ("obj", "nsubj", "det", "amod", "case", "nmod:poss", "aux", "aux:pass", "advmod", "cop", "conj")


def own_sentence(view: View, model_id: str, text: str, mask: Mask) -> None:
    """The sidebar's sentence under the sidebar's mask, and one link in it."""
    trace = loading.trace(text, model_id, mask)
    unread(trace)
    chinese_words.pronouns_without_token(trace)
    chinese_words.get_ready(trace.text)
    way = choose(_("How to link"), "link", translated(WAYS), "hand", wide=True, bare=True)
    if way == "parser":
        found = _parsed(view, trace.text, model_id, mask)
    else:
        found = _by_hand(view, data.maps_of(text, model_id, mask), text)
    if found is None:
        return
    maps, links, link = found
    st.markdown(plain(_one_link(view, maps, link)))
    st.markdown(plain(_its_record(view, link)))
    for said in (chinese_words.who_parted(maps.segmenter), chinese_words.shares_piece(maps, link)):
        small(said)

    arrows = hits_and_misses(maps.target[:, view.head[0], view.head[1]], [link])
    drawn = Shown(trace.text, maps, tuple(links), tuple(arrows), ARCS[way])
    with draw(view, drawn, marked=(link.asking, link.wanted)):
        used.used(view, text, model_id, mask, maps, (link,))


def _parsed(view: View, text: str, model_id: str, mask: Mask) -> tuple[WordMaps, list[Link], Link] | None:
    if is_chinese(text):
        st.info(_("The parser reads English only. Link two words by hand."))
        return None
    try:
        parsed = parsing.parse(text)
    except NoParser as error:
        st.info(explain(error))
        return None
    st.markdown(
        ":primary[**▲**] "
        + plain(
            _(
                "Parsed automatically, about 1 in 10 wrong. Only relations on which the parser is reliable: "
                "determiner, possessor, object, adjective, passive auxiliary, preposition. English only."
            )
        )
    )
    if not parsed.links:
        st.info(_("The parser found none of these relations here. Link two words by hand."))
        return None
    spans: tuple[Span, ...] = parsed.spans
    maps = data.maps_of(text, model_id, mask, parsed.words, spans)
    links = [link for link in parsed.links if max(link.asking, link.wanted) < len(maps.words)]
    labels = [link_name(link, parsed.words) for link in links]
    at = next((i for i, link in enumerate(links) if link.relation == view.table.task), 0)
    options = list(range(len(links)))
    key = f"heads_parsed_{abs(hash(text))}"
    number = st.selectbox(_("Link"), options, index=at, format_func=labels.__getitem__, key=key)
    return maps, links, links[int(number)]


def _asked_at_first(maps: WordMaps, text: str) -> tuple[int, int]:
    """The words that are linked at first: those that an example is about, else a pronoun and a word before it."""
    example = examples.of(text)
    for question in example.agreement.questions if example is not None and example.agreement is not None else ():
        asking = [i for i, word in enumerate(maps.words) if word == question.pronoun]
        wanted = [i for i, word in enumerate(maps.words) if word.endswith(question.right)]  # 红 is a piece of 小红
        if asking and wanted:
            return asking[0], wanted[0]
    n_words = len(maps.words)
    pronoun = next((i for i, word in enumerate(maps.words) if i and is_pronoun(word)), 0)  # of Chinese; 0 = none
    return (pronoun, 0) if pronoun else (min(6, n_words - 1), min(4, n_words - 2))


def _by_hand(view: View, maps: WordMaps, text: str) -> tuple[WordMaps, list[Link], Link] | None:
    n_words = len(maps.words)
    if n_words < 2:
        st.info(_("A link needs two words. Type a longer sentence in the sidebar."))
        return None
    numbers = list(range(n_words))
    at_first = _asked_at_first(maps, text)
    is_new = st.session_state.get("heads_link_text") != text  # another sentence: other words are worth linking
    st.session_state["heads_link_text"] = text
    for name, first in zip(("heads_asking", "heads_wanted"), at_first, strict=True):
        if is_new or st.session_state.get(name) not in numbers:
            st.session_state[name] = first
    labels = [f"{word} ({place})" for place, word in enumerate(maps.words, start=1)]
    left, middle, right = st.columns(3, gap="small")
    with left:
        asking = st.selectbox(_("This word looks"), numbers, format_func=labels.__getitem__, key="heads_asking")
    with middle:
        wanted = st.selectbox(_("at this word"), numbers, format_func=labels.__getitem__, key="heads_wanted")
    with right:
        known = {task for task, _direction in view.record.tasks()}
        names = {
            name: task_name(name, "dep>head") for name in (*PRONOUNS, *LINK_NAMES) if name != GENDER or name in known
        }
        if st.session_state.get("heads_link_name") not in names:
            st.session_state["heads_link_name"] = view.task if view.task in names else next(iter(names))
        relation = st.selectbox(_("as"), list(names), format_func=names.__getitem__, key="heads_link_name")
    if asking == wanted:
        st.info(_("A word can't be linked with itself. Choose two words."))
        return None
    link = Link(int(asking), int(wanted), str(relation))
    return maps, [link], link


def _one_link(view: View, maps: WordMaps, link: Link) -> str:
    """The arrow, how many heads find it, and whether a fixed offset explains it. No percentages."""
    asking, wanted = maps.words[link.asking], maps.words[link.wanted]
    looked = int(maps.target[(link.asking, *view.head)])
    points_there = pointing(maps, link)
    if not maps.allowed[link.asking, link.wanted]:
        return _("“{asking}” can't see “{wanted}” under this mask.").format(asking=asking, wanted=wanted)
    if looked == link.wanted:
        said = _("{head} looks from “{asking}” at “{wanted}”.")
    else:
        said = _("{head} looks from “{asking}” at “{looked}”, not at “{wanted}”.")
    said = said.format(head=view.name, asking=asking, wanted=wanted, looked=maps.words[looked] if looked >= 0 else "–")
    said += " " + _("{k} of {total} heads point there.").format(k=int(points_there.sum()), total=points_there.size)
    offset = offset_of(link)
    if offset is None:
        said += " " + _("No fixed step of up to five words would find it.")
    else:
        said += " " + _("{step} finds it too, in this sentence.").format(
            step=baseline_label(f"{offset:+d}").capitalize()
        )
    if len(maps.words) > 1:
        content = float(maps.content()[(*view.head, link.asking)])
        said += " " + on_words(content)
    return said


def on_words(weight: float) -> str:
    """How much of a row lies on words, and where the rest is, if two decimals show a rest."""
    if f"{weight:.2f}" == "1.00":
        return _("All of its weight here lies on words.")
    return _("{weight} of its weight here lies on words, the rest on special tokens.").format(weight=f"{weight:.2f}")


def _its_record(view: View, link: Link) -> str:
    """What the head did on a corpus for such links."""
    table = _table_for(view, link)
    if table is None:
        return _("No record of such links on this corpus.")
    name = task_name(table.task, table.direction)
    sentence = _("Its record for {task}: {claim}. ({origin})")
    return sentence.format(task=name, claim=head_claim(table, view.head), origin=origin(view.record))


def _table_for(view: View, link: Link) -> Table | None:
    if link.relation == GENDER:
        return view.record.table(GENDER, "")
    if link.relation in COREFERENCE:
        return view.record.table("coref-noun") or view.record.table("coref")
    return view.record.table(link.relation, "dep>head") if link.relation in RELATIONS else None
