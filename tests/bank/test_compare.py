"""Two statements side by side: what is the same, what is near, and what tells them apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.bank.compare.normal import normal
from vademecum.bank.compare.relation import differs, may_contradict, near, same, search_terms

DATA = Path(__file__).resolve().parents[1] / "data" / "compare"
LANGUAGES = {"en", "de", "fr", "es", "nl", "ru", "zh"}


def pairs(name: str) -> list[tuple[str, str, str]]:
    rows = [line.split("\t") for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    return [(row[0], row[-2], row[-1]) for row in rows]


DIFFERENT, ALIKE = pairs("differences.tsv"), pairs("paraphrases.tsv")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The port is 5432.", "the port is 5432"),
        ("Use   tabs,\nnot spaces!", "use tabs not spaces"),
        ("Use “tabs”", 'Use "tabs".'),
        ("Use **tabs** here", "use tabs here"),
        ("caf\u00e9 is open", "cafe\u0301 is open."),
        ("Ｐｏｒｔ 5432", "port 5432"),
        ("range 10–20", "range 10-20"),
        ("well-known host", "well known host"),
        ("端口 是 5432。", "端口是5432"),
        ("a, b and c", "a,b and c"),
        ("Deploy — with care", "deploy with care"),
    ],
)
def test_case_punctuation_white_space_and_unicode_form_make_no_difference(a: str, b: str) -> None:
    assert same(a, b)
    assert near(a, b)
    assert differs(a, b) == ()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("written in C", "written in C#"),
        ("written in C", "written in C++"),
        ("5%", "5"),
        ("-5 degrees", "5 degrees"),
        ("1.5 GB", "15 GB"),
        ("at 10:30", "at 1030"),
        ("x != 3", "x = 3"),
        ("10² bytes", "102 bytes"),
        ("ano", "año"),
        ("see #123", "see 123"),
        ("deploys ✅", "deploys ❌"),
        ("use --force", "use force"),
        ("edit .bashrc", "edit bashrc"),
        ("a > b", "a < b"),
        ("mail @anna", "mail anna"),
        ("Maße", "Masse"),
    ],
)
def test_marks_that_belong_to_a_word_or_number_keep_two_texts_apart(a: str, b: str) -> None:
    assert not same(a, b)


@given(st.text(max_size=200))
def test_the_normal_form_of_a_normal_form_is_itself(text: str) -> None:
    assert normal(normal(text)) == normal(text)


def test_there_are_enough_pairs_in_every_language() -> None:
    assert len(DIFFERENT) >= 150
    assert len(ALIKE) >= 100
    for rows in (DIFFERENT, ALIKE):
        assert {language for language, _, _ in rows} == LANGUAGES
        assert len({frozenset((a, b)) for _, a, b in rows}) == len(rows)


@pytest.mark.parametrize(("language", "a", "b"), DIFFERENT)
def test_a_number_a_negation_a_name_or_an_opposite_that_differs_is_never_near(language: str, a: str, b: str) -> None:
    del language
    for one, two in ((a, b), (b, a)):
        assert not same(one, two)
        # no cosine, however high, makes them near
        assert not near(one, two, 0.99)
        assert not near(f"{one} Note it well.", f"{two} Note it well.")
        assert differs(one, two)


def test_at_least_80_of_100_paraphrases_are_near_in_both_directions() -> None:
    found = [(a, b) for _, a, b in ALIKE if near(a, b) and near(b, a)]
    assert len(found) >= 0.8 * len(ALIKE)
    assert not any(same(a, b) for _, a, b in ALIKE)


@pytest.mark.parametrize("name", ["blind-a-differences.tsv", "blind-b-differences.tsv", "probes-differences.tsv"])
def test_no_pair_that_differs_in_one_thing_is_near_whoever_wrote_it(name: str) -> None:
    rows = pairs(name)
    assert len(rows) >= 120
    assert [(a, b) for _, a, b in rows if near(a, b, 0.99) or near(b, a, 0.99)] == []


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("paraphrases.tsv", 0.85),  # 0.92 measured, and tuned on
        ("blind-a-paraphrases.tsv", 0.55),  # 0.63, tuned on
        ("blind-b-paraphrases.tsv", 0.10),  # 0.13, not tuned on
    ],
)
def test_as_many_paraphrases_are_near_as_were_measured(name: str, least: float) -> None:
    rows = pairs(name)
    assert sum(near(a, b) and near(b, a) for _, a, b in rows) >= least * len(rows)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("I have lunch at 12:30.", "The user has lunch at half past twelve."),
        ("The meeting is at 3 pm.", "The meeting is at 15:00."),
        ("Das Backup läuft um 3 Uhr.", "Das Backup läuft um 03:00."),
        ("Der Zug fährt um halb sieben.", "Der Zug fährt um 6:30 Uhr."),
        ("Me levanto a las seis y media.", "El usuario se levanta a las 6:30."),
        ("Il mange à midi.", "Il mange à 12:00."),
        ("The budget is €12k.", "The budget is 12,000 €."),
        ("预算是五万元", "预算是 5 万元"),
        ("The cache is cleared every 15 minutes.", "Every quarter of an hour the cache is cleared."),
        ("There are twenty-five desks.", "There are 25 desks."),
        ("The client uses v4.", "The client uses version 4."),
        ("Nobody answers tickets.", "Tickets are unanswered."),
        ("Codekommentare sind Pflicht.", "Kommentare im Code sind Pflicht."),
        ("Ревью делает Ольга.", "Ревью у Ольги."),
    ],
)
def test_numbers_times_and_forms_of_words_are_read_alike_however_they_are_written(a: str, b: str) -> None:
    assert near(a, b)
    assert near(b, a)


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("Tests can be skipped.", "Tests must be skipped.", "modality"),
        ("The user wants to visit Japan.", "The user visited Japan.", "modality"),
        ("He worked at Google.", "He works at Google.", "time"),
        ("The worker calls the client.", "The client calls the worker.", "order"),
        ("We owe the customer money.", "The customer owes us money.", "order"),
        ("The meeting is at half past six.", "The meeting is at half past seven.", "number"),
    ],
)
def test_what_is_meant_allowed_or_past_is_told_from_what_is(a: str, b: str, why: str) -> None:
    assert differs(a, b)[0].startswith(why)
    assert differs(b, a)[0].startswith(why)


def test_texts_whose_vectors_are_far_apart_are_not_near_although_their_words_are() -> None:
    a, b = "We deploy to production every Friday.", "Deployments to production happen each Friday."
    assert near(a, b, 0.7)
    assert not near(a, b, 0.1)


def test_what_differs_is_said() -> None:
    assert differs("The port is 5432.", "The port is 5433.") == ("number: 5432 / 5433",)
    assert differs("It was approved.", "It was not approved.") == ("negation: - / not",)
    assert differs("We deploy on Fridays.", "We deploy on Mondays.") == ("date: Fridays / Mondays",)
    assert differs("Dark mode is enabled.", "Dark mode is disabled.") == ("opposite: enabled / disabled",)
    assert differs("Anna reports to Bob.", "Bob reports to Anna.")[0].startswith("order")


def test_numbers_in_another_notation_are_the_same_number() -> None:
    assert near("The budget is 5,000 euros.", "The budget is 5000 euros.")
    assert near("Das Budget beträgt 5.000 Euro.", "Das Budget beträgt 5000 Euro.")
    assert near("The timeout is two minutes.", "The timeout is 2 min.")
    assert not near("The limit is 1.500 s.", "The limit is 1,500 s.")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The database listens on port 5432.", "The database listens on port 5433."),
        ("The release was approved.", "The release was not approved."),
        ("We deploy on Fridays.", "We deploy on Mondays."),
        ("Dark mode is enabled.", "Dark mode is disabled."),
        ("The default branch is called main.", "The default branch is called trunk."),
        ("Die Datenbank läuft auf Port 5432.", "Die Datenbank läuft auf Port 5433."),
        ("Сервис работает с Redis.", "Сервис работает без Redis."),
        ("用户喜欢咖啡。", "用户不喜欢咖啡。"),
    ],
)
def test_another_value_for_the_same_may_contradict(a: str, b: str) -> None:
    assert may_contradict(a, b)
    assert may_contradict(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The database listens on port 5432.", "Anna likes tea."),
        ("The API listens on port 8080.", "The worker restarts after 3 failures."),
        ("Anna likes tea.", "Bob likes tea."),
        ("We deploy to production every Friday.", "Deployments to production happen each Friday."),
        ("The port is 5432.", "the port is 5432"),
        ("", "The port is 5432."),
    ],
)
def test_what_is_about_something_else_or_says_the_same_does_not_contradict(a: str, b: str) -> None:
    assert not may_contradict(a, b)


def test_search_terms_are_the_words_that_carry_something() -> None:
    assert search_terms("The staging database listens on port 5432.") == ["database", "staging", "listens", "port"]


@settings(max_examples=100)
@given(st.text(max_size=120), st.text(max_size=120))
def test_any_two_texts_get_an_answer_that_does_not_depend_on_their_order(a: str, b: str) -> None:
    assert same(a, b) == same(b, a)
    if near(a, b):
        assert not may_contradict(a, b)
    if same(a, b):
        assert not differs(a, b)
    may_contradict(b, a)
