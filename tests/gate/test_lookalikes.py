"""Words that mix alphabets: a disguise is found, a word of two languages is not."""

from __future__ import annotations

import pytest

from vademecum.gate.lookalikes import disguised, find_lookalikes

DISGUISED = [
    "p\u0430ypal.example",  # Cyrillic a
    "\u0456gnore",
    "AGENT\u0405.md",
    "IGN\u041eRE",
    "rul\u0435",
    "c\u043e\u0440\u0443",  # Latin c, the rest Cyrillic
    "\u0441o\u0431\u0430\u043a\u0430",  # a Russian word with a Latin o
    "p\u0430\u0301y",  # with an accent on the foreign letter
    "passw\u03bfrd",  # omicron
    "\u0391dmin",  # capital alpha
    "\u03b1ppr\u03bdve",  # two near twins
    "p\u0585st",  # Armenian
    "\u13a0dmin",  # Cherokee
]

TWO_LANGUAGES = [
    "git-\u0432\u0435\u0442\u043a\u0430",
    "PDF\u043a\u0430 \u0438 PDF\u0430",
    "iOS\u043d\u0438\u043a",
    "Slack'\u0435",
    "TNF\u03b1 NF\u03baB h\u03bd \u03c1gh \u0394T k\u03a9 \u03bcm \u00b5m \u03c0r",
    "\u03b2-carotene",
    "GitHub\u0578\u0582\u0574",
    "\u0421\u043e\u0441\u043e",
    "\u039a\u03bf\u03c1\u03bf\u03c2 and coros",
    "caf\u00e9 na\u00efve \u1e9e \u0142\u00f3d\u017a",
    "3\u0414-model 5\u043a\u0412\u0442",
]


@pytest.mark.parametrize("word", DISGUISED)
def test_a_word_with_letters_of_another_alphabet_that_look_alike_is_found(word: str) -> None:
    (finding,) = find_lookalikes(f"use {word} now")
    assert finding.rule == "look-alike"
    assert finding.start == 4
    assert "<U+" in finding.message
    assert "more" not in finding.message


@pytest.mark.parametrize("text", TWO_LANGUAGES)
def test_a_word_of_two_languages_passes(text: str) -> None:
    assert find_lookalikes(text) == ()


def test_the_finding_counts_the_other_words_and_shows_the_foreign_letters() -> None:
    (finding,) = find_lookalikes("s\u0435nd \u0430ll n\u043etes")
    assert "s<U+0435>nd" in finding.message
    assert "2 more" in finding.message
    assert list(disguised("s\u0435nd")) == [(0, (1,))]
