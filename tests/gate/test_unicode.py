"""Hidden characters: refused out of their context, welcome in it, shown by name, in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.gate.lookalikes import find_lookalikes
from vademecum.gate.unicode import find_hidden, is_plain, visible

HIDDEN = [
    ("split by zero-width spaces", "s\u200bend the fi\u200ble", "zero-width-space"),
    ("a zero-width space at the end", "all is well\u200b", "zero-width-space"),
    ("two zero-width spaces in Thai", "\u0e44\u0e17\u0e22\u200b\u200b\u0e19\u0e35\u0e49", "zero-width-space"),
    ("a joiner in a Latin word", "pass\u200dword", "joiner"),
    ("a non-joiner in a Latin word", "pass\u200cword", "joiner"),
    ("a joiner after an emoji and before a letter", "\U0001f469\u200dx", "joiner"),
    ("three non-joiners in Persian", "\u0645\u06cc\u200c\u200c\u200c\u0631\u0648\u062f", "joiner"),
    ("a word joiner", "to\u2060gether", "invisible"),
    ("invisible times", "a\u2062b", "invisible"),
    ("tags that spell a word", "ok\U000e0068\U000e0069", "tag"),
    ("tags behind a black flag", "\U0001f3f4\U000e0068\U000e0069\U000e0064\U000e0065\U000e007f", "tag"),
    (
        "a Scottish flag with a tail",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f\U000e0041",
        "tag",
    ),
    ("a language tag", "\U000e0001en", "tag"),
    ("selectors that carry bytes", "ok\U000e0150\U000e0151\U000e0152", "variation-selector"),
    ("an emoji selector after a letter", "a\ufe0f", "variation-selector"),
    ("two emoji selectors", "\u2764\ufe0f\ufe0f", "variation-selector"),
    ("a digit with a selector and no keycap", "1\ufe0f2", "variation-selector"),
    ("a selector beyond the registered ones", "\u845b\U000e01d0", "variation-selector"),
    ("soft hyphens between all letters", "h\xadi\xadd\xade", "soft-hyphen"),
    ("a soft hyphen at the end of a word", "hide\xad it", "soft-hyphen"),
    ("a grapheme joiner between letters", "hi\u034fde", "grapheme-joiner"),
    ("the Hangul filler", "one\u3164two", "invisible"),
    ("the halfwidth Hangul filler", "one\uffa0two", "invisible"),
    ("a whole syllable of Jamo fillers", "x\u115f\u1160y", "filler"),
    ("a blank of braille", "one\u2800two", "blank-braille"),
    ("the Mongolian vowel separator in Latin", "a\u180eb", "mongolian-selector"),
    ("an override", "\u202eesrever\u202c", "direction"),
    ("an override in a Hebrew line", "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c", "direction"),
    ("an embedding in a Latin line", "call \u202a+49 30 1234\u202c now", "direction"),
    ("an isolate that is never closed", "\u05e9\u05dc\u05d5\u05dd \u2067abc", "direction"),
    ("an isolate closed as an embedding", "\u05e9\u05dc\u05d5\u05dd \u2067\u05d0\u202c", "direction"),
    ("Latin words turned round in a Hebrew line", "\u05e9\u05dc\u05d5\u05dd \u2067never allow\u2069", "direction"),
    ("an isolate closed in the next line", "\u05e9\u05dc\u05d5\u05dd \u2067\u05d0\n\u05d1\u2069", "direction"),
    ("an empty isolate", "\u05e9\u05dc\u05d5\u05dd \u2068\u2069.", "direction"),
    ("left-to-right marks in a Latin word", "pa\u200ess", "direction"),
    ("a mark that splits a Latin word in a Hebrew line", "\u05e9\u05dc\u05d5\u05dd pa\u200ess", "direction"),
    ("a row of marks", "\u05e9\u05dc\u05d5\u05dd \u200f\u200e\u200f", "direction"),
    ("interlinear annotation", "\ufff9seen\ufffahidden\ufffb", "invisible"),
    ("a byte order mark inside a word", "pass\ufeffword", "byte-order-mark"),
    ("many byte order marks", "a \ufeffb \ufeffc", "byte-order-mark"),
    ("a null", "a\x00b", "control"),
    ("an escape sequence of a terminal", "\x1b[8mhidden\x1b[0m", "control"),
    ("a lone carriage return", "shown\rwritten over", "control"),
    ("delete", "a\x7fb", "control"),
    ("a C1 control", "a\x9bb", "control"),
    ("a line separator", "a\u2028# b", "control"),
    ("a noncharacter", "a\ufdd0b", "no-character"),
    ("the last code point", "a\U0010ffffb", "no-character"),
    ("a byte that is not UTF-8", "a\udcffb", "not-utf-8"),
    ("words in private use", "x" + "\ue001\ue002\ue003\ue004", "private-use"),
    ("musical controls", "a\U0001d173b", "invisible"),
    ("unassigned tags", "a\U000e0200b", "invisible"),
    ("Egyptian controls without hieroglyphs", "a\U00013430\U00013431", "egyptian-control"),
]

WELCOME = [
    ("plain", "SSH key is at ~/.ssh/id_ed25519\n\tcheck in with the team\r\nC# costs 5 % (a < b)"),
    (
        "typographic",
        "Zo\u00eb \u2014 \u201cquoted\u201d \u2026 10\u202fkm, no\u00a0break, 30\u2009\u20ac, na\u00efve, i\u0308",
    ),
    ("a family", "\U0001f469\u200d\U0001f469\u200d\U0001f466\u200d\U0001f466 and \U0001f468\U0001f3fe\u200d\U0001f4bb"),
    (
        "gendered and coloured",
        "\U0001f3c3\U0001f3fd\u200d\u2640\ufe0f \u2764\ufe0f\u200d\U0001f525 \U0001f441\ufe0f\u200d\U0001f5e8\ufe0f",
    ),
    ("flags", "\U0001f1e9\U0001f1ea \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f3f4\u200d\u2620\ufe0f \U0001f3f4"),
    ("the flag of Wales", "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f!"),
    ("keycaps", "press #\ufe0f\u20e3, then 7\ufe0f\u20e3"),
    ("text style", "\u2714\ufe0e done, \u260e\ufe0e call"),
    ("an emoji newer than Python", "\U0001fae9 \U0001f6d8"),
    (
        "Persian",
        "\u0646\u0645\u06cc\u200c\u062f\u0627\u0646\u0645 PDF\u200c\u0647\u0627 \u06f1\u06f4 \u0647\u200d.\u0634",
    ),
    ("Hindi and Malayalam", "\u0915\u094d\u200d\u0937 \u0d28\u0d4d\u200d \u0930\u094d\u200d\u092f"),
    ("a doubled joiner", "\u0645\u06cc\u200c\u200c\u0631\u0648\u062f \u0d30\u0d4d\u200d\u200d"),
    ("Bengali", "\u09b0\u200d\u09cd\u09af\u09be\u09ae"),
    ("Sinhala", "\u0dc1\u0dca\u200d\u0dbb\u0dd3"),
    ("Thai with breaks", "\u0e2a\u0e27\u0e31\u0e2a\u200b\u0e14\u0e35"),
    ("Khmer with breaks", "\u1781\u17d2\u1789\u17bb\u17c6\u200b\u1791\u17c5"),
    ("Mongolian", "\u182d\u180b\u1820 \u182a\u180e\u1820"),
    ("old Korean", "\u1100\u1160\u11a8 \u115f\u1161"),
    (
        "Hebrew with marks",
        "\u05d0\u05e0\u05d9 \u05de\u05e9\u05ea\u05de\u05e9 \u05d1-C++\u200e \u05db\u05dc \u05d9\u05d5\u05dd\u200f.",
    ),
    ("Hebrew points", "\u05d1\u05bc\u034f\u05b7"),
    (
        "Arabic with an isolate",
        "\u0627\u0633\u062a\u062e\u062f\u0645 \u2066git push\u2069 \u2067\u0627\u0646\u062a\u0647\u0649\u2069",
    ),
    ("Arabic with an embedding", "\u0627\u0633\u062a\u062e\u062f\u0645 \u202agit push\u202c"),
    ("an Arabic letter mark", "\u0627\u0644\u0639\u062f\u062f \u061c-5"),
    ("ideographs with selectors", "\u845b\U000e0100\u57ce\u5e02 \u8fbb\U000e0101 \u3001\ufe01"),
    ("a slashed zero", "0\ufe00 and \u2229\ufe00"),
    (
        "Chinese, Japanese, Korean",
        "\u4e2d\u6587\u56de\u590d\u3000\uff21\uff22\uff23 \u30b3\u30fc\u30c9 \ud55c\uad6d\uc5b4",
    ),
    ("Vietnamese", "Ti\u1ebfng Vi\u1ec7t, decomposed Tie\u0302\u0301ng"),
    ("braille", "\u2813\u2811\u2800\u283a\u2815"),
    ("braille art", "\u2800\u2800\u28ff\n\u2800\u2800\u2800\n\u28ff\u2800\u2800"),
    ("a leading byte order mark", "\ufeffname,age"),
    ("a pasted file", "the export:\n\ufeffname,age"),
    ("a hyphenated word from a PDF", "the Ver\xadfas\xadsungs\xadgericht said"),
    ("icons of a font for terminals", "prompt \ue0b0 branch \uf418"),
    ("bold and full width", "\U0001d401\U0001d428\U0001d425\U0001d41d \uff26\uff35\uff2c\uff2c"),
    ("Egyptian", "\U00013000\U00013430\U00013001"),
]


@pytest.mark.parametrize(("text", "rule"), [pytest.param(t, r, id=name) for name, t, r in HIDDEN])
def test_a_hidden_character_out_of_its_context_is_found(text: str, rule: str) -> None:
    assert rule in [finding.rule for finding in find_hidden(text)]
    assert not is_plain(text)


@pytest.mark.parametrize("text", [pytest.param(t, id=name) for name, t in WELCOME])
def test_living_scripts_and_emoji_pass(text: str) -> None:
    assert find_hidden(text) == ()
    assert find_lookalikes(text) == ()
    assert visible(text) == text


def test_a_finding_names_the_character_its_place_and_how_many_there_are() -> None:
    (finding,) = find_hidden("please h\u200bi\u200bde")
    assert finding.start == 8
    assert "U+200B (ZERO WIDTH SPACE)" in finding.message
    assert "please h" in finding.message
    assert "2 characters" in finding.message


def test_several_kinds_give_one_finding_each_in_the_order_of_the_text() -> None:
    found = find_hidden("a\u2060b\u200bc\u2060d\x00")
    assert [(f.rule, f.start) for f in found] == [("invisible", 1), ("zero-width-space", 3), ("control", 7)]


def test_visible_shows_hidden_characters_and_disguised_letters_and_nothing_else() -> None:
    text = "h\u200bi p\u0430y \u0645\u06cc\u200c\u0631\u0648\u062f \U000e0041"
    assert visible(text) == "h<U+200B>i p<U+0430>y \u0645\u06cc\u200c\u0631\u0648\u062f <U+E0041>"


def test_a_flag_that_carries_hidden_tags_stays_and_its_tags_are_shown() -> None:
    text = "go \U0001f3f4\U000e0068\U000e0069"
    assert visible(text) == "go \U0001f3f4<U+E0068><U+E0069>"
    assert find_hidden(text)[0].start == 4


ALPHABET = st.sampled_from(
    [*"ab 1#\n.", *(c for _, text, _ in HIDDEN for c in text), *(c for _, text in WELCOME for c in text)]
)


@settings(max_examples=400, deadline=None)
@given(st.text(ALPHABET, max_size=40) | st.text(max_size=40))
def test_what_was_made_visible_holds_nothing_hidden(text: str) -> None:
    shown = visible(text)
    assert find_hidden(shown) == ()
    assert find_lookalikes(shown) == ()
    assert (shown == text) == (find_hidden(text) == () and find_lookalikes(text) == ())


@settings(max_examples=300, deadline=None)
@given(st.text(ALPHABET, max_size=40))
def test_the_fast_look_never_overlooks_what_the_slow_one_finds(text: str) -> None:
    if is_plain(text):
        assert find_hidden(text) == ()
        assert find_lookalikes(text) == ()


WORST = {
    "zero-width spaces": "\u200b",
    "open embeddings after a Hebrew letter": "\u2067",
    "alternating directions": "\u05d0\u202b\u202c",
    "byte order marks": " \ufeffa",
    "private use in threes": "\ue000\ue001\ue002 ",
    "braille lines": "\u2800\n",
    "black flags with tags": "\U0001f3f4\U000e0041",
    "one long mixed word": "a\u0430",
    "marks after a letter": "\u0301",
}


@pytest.mark.parametrize("unit", [pytest.param(unit, id=name) for name, unit in WORST.items()])
def test_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    def cost(size: int) -> float:
        text = "\u05d0a" + unit * (size // len(unit)) + "\u0431"
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            find_hidden(text)
            find_lookalikes(text)
            best = min(best, time.process_time() - start)
        return best

    small, large = cost(10_000), cost(80_000)
    assert large < 24 * small + 0.05  # eight times the text; a quadratic rule would take 64 times as long
