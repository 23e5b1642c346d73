"""The generic half: preparing text, reading queries, cutting snippets, slips."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.search.prepare import LONGEST_WORD, fold, prepare, well_formed
from vademecum.search.query import LONGEST_QUERY, MOST_TERMS, read
from vademecum.search.snippet import same_length, snippet
from vademecum.search.stopwords import stop_words
from vademecum.search.typos import nearest, slips


def test_ordinary_text_is_indexed_as_it_is() -> None:
    text = "An ordinary sentence, with a few words (and some more); nothing else."
    assert prepare(text) == text


@given(st.text())
def test_preparing_any_text_gives_storable_text(text: str) -> None:
    prepare(text).encode()
    fold(text).encode()


@given(st.text())
def test_folding_twice_changes_no_words(text: str) -> None:
    once = fold(text)
    plain = "".join(" " if "\ue000" <= c <= "\uf8ff" else c for c in once)
    assert fold(plain).split() == plain.split()


def test_endless_runs_do_not_fill_the_vocabulary() -> None:
    prepared = prepare("before " + "QUJD" * 10_000 + " after")
    assert len(prepared) < 3 * LONGEST_WORD
    assert prepared.startswith("before ")
    assert " after" in prepared


def test_private_use_characters_of_a_text_do_not_reach_the_index() -> None:
    assert prepare("a \ue02b \uf8ffb").split() == ["a", "b"]


def test_well_formed_text_is_the_same_object() -> None:
    text = "naïve 😀"
    assert well_formed(text) is text
    assert well_formed("\ud83d\ude00\ud83d") == "😀\ufffd"


@given(st.text() | st.text(alphabet="ab\"'*()-+#:^{}.~%_\\ \0\n|"))
def test_every_expression_of_every_query_is_valid(text: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize=\"porter unicode61 categories 'L* N* Co M*'\")")
    for term in read(text).terms:
        for one in (term, *term.parts):
            db.execute("SELECT rowid FROM t WHERE t MATCH ?", (one.match,)).fetchall()
            db.execute(
                "SELECT rowid FROM t WHERE t MATCH ?", (f"{one.match} AND ({one.match} OR {one.match})",)
            ).fetchall()


def test_a_query_has_bounded_length() -> None:
    query = read("word " * 10 + " ".join(f"w{number}" for number in range(10_000)))
    assert len(query.terms) <= MOST_TERMS
    assert query.cut
    assert len(read("a" * 100_000).literal) <= LONGEST_QUERY


def test_stop_words_are_set_aside_and_kept_when_nothing_else_is_there() -> None:
    query = read("what did we decide about the budget?")
    assert [term.text for term in query.content] == ["decide", "budget"]
    assert [term.text for term in read("who is it").content] == ["who", "is", "it"]


@pytest.mark.parametrize(
    ("typed", "content"),
    [
        ("world war", ["world", "war"]),
        ("the IT budget", ["IT", "budget"]),
        ("wann war die Migration der Datenbank", ["Migration", "Datenbank"]),
        ("qu'est-ce que nous avons dit de la facture", ["qu'est-ce", "facture"]),
        ("¿qué dijimos sobre la factura?", ["dijimos", "factura"]),
        ("что мы решили про бюджет", ["бюджет"]),
    ],
)
def test_stop_words_are_those_of_the_language_of_the_query(typed: str, content: list[str]) -> None:
    assert [term.text for term in read(typed).content] == content


def test_one_foreign_stop_word_is_a_word() -> None:
    assert stop_words(["die", "hard", "movie"]) == frozenset()


def test_quotes_keep_words_together_and_an_open_one_is_a_character() -> None:
    assert [(term.text, term.quoted) for term in read('a "red door" here').terms][1] == ("red door", True)
    assert not any(term.quoted for term in read('a "red door').terms)
    assert read("„rote Tür“").terms[0].quoted


@given(st.text(), st.lists(st.text(max_size=5), max_size=4), st.integers(min_value=10, max_value=300))
def test_a_snippet_is_short_and_of_the_text(text: str, wanted: list[str], length: int) -> None:
    cut = snippet(text, wanted, length)
    assert len(cut) <= length
    assert cut.strip("…") in " ".join(text.split()) or "…" in " ".join(text.split())


def test_a_snippet_shows_where_most_of_the_words_stand() -> None:
    text = "budget " + "x " * 500 + "the marquee is over budget " + "y " * 500 + "marquee"
    assert "the marquee is over budget" in snippet(text, ["marquee", "budget"], 100)


def test_places_stay_the_same_without_diacritics() -> None:
    text = "Çà et là, ﬁn İstanbul ß 数据 😀"
    assert len(same_length(text)) == len(text)
    assert same_length("ÉTÉ") == "ete"


def test_slips_are_one_edit_away() -> None:
    made = slips("word")
    for other in ("wrod", "wor", "woord", "ward", "sword", "ord"):
        assert other in made
    assert "word" not in made
    assert slips("a1b2") == slips("abc") == []


def test_the_nearest_word_is_first() -> None:
    vocabulary = [("accommodate", 5), ("accommod", 2), ("acom", 9), ("accomod", 1)]
    assert nearest("acomod", vocabulary)[0] == "accomod"
    assert "acom" in nearest("acomod", vocabulary)
    assert nearest("zebra", vocabulary) == []
