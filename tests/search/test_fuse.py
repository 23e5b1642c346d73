"""Reading a question to what was said, and fusing what is known of each passage."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.search.asked import asked
from vademecum.search.fuse import BESIDES, WEIGHTS, fused, scaled
from vademecum.search.kinds import holds, kind_of
from vademecum.search.passages import PIECE, SHORT, Passages, Spoken, pieces
from vademecum.search.rank import Wanted, weight
from vademecum.store import Database
from vademecum.store.message_index import tokenizer


def test_the_name_of_who_speaks_is_no_word_to_look_for() -> None:
    question = asked("What did Ines research last year?", ["Ines Costa", "Rui"])
    assert question.speakers == {"Ines Costa"}
    assert question.meaning == "research last year"
    assert "Ines" not in question.full


def test_a_question_about_nothing_but_a_speaker_keeps_the_name() -> None:
    assert [term.text for term in asked("Ines?", ["Ines"]).terms] == ["Ines"]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Where did I leave my bicycle?", "user"),
        ("What did you recommend for my trip?", "assistant"),
        ("Wo habe ich mein Rad gelassen?", "user"),
        ("我的自行车在哪里", "user"),
        ("Where is the office?", ""),
    ],
)
def test_without_a_name_the_question_says_whose_words_are_meant(text: str, role: str) -> None:
    assert asked(text).role == role


def test_a_named_speaker_is_meant_before_the_one_who_asks() -> None:
    question = asked("What did Rui tell me?", ["Rui"])
    assert (question.speakers, question.role) == ({"Rui"}, "")


@pytest.mark.parametrize(
    ("question", "kind", "answer", "other"),
    [
        ("When did you move?", "time", "We moved last week.", "We moved to Ghent."),
        ("How many disks are there?", "number", "It has three disks.", "It has disks."),
        ("Wann war das?", "time", "Das war gestern.", "Das war laut."),
        ("Combien de chats as-tu ?", "number", "J'en ai deux.", "J'en ai."),
        ("¿Cuándo llegaste?", "time", "Llegué el lunes.", "Llegué bien."),
        ("Hoeveel kamers heeft het?", "number", "Het heeft vier kamers.", "Het heeft kamers."),
        ("Когда ты приехал?", "time", "Вчера вечером.", "Поездом."),
        ("你什么时候到的", "time", "昨天到的", "坐车到的"),
    ],
)
def test_a_question_for_a_time_or_a_number_knows_an_answer_that_has_one(
    question: str, kind: str, answer: str, other: str
) -> None:
    assert kind_of(question) == kind
    assert holds(answer, kind_of(question))
    assert not holds(other, kind_of(question))


def test_other_questions_want_no_kind_of_answer() -> None:
    assert kind_of("What is whenever.js?") == ""
    assert not holds("yesterday 5", "")


@given(st.text(max_size=60), st.lists(st.text(max_size=10), max_size=3))
def test_any_string_is_a_question(text: str, speakers: list[str]) -> None:
    question = asked(text, speakers)
    assert question.meaning == question.query.text or question.meaning


def test_a_weak_signal_does_not_outvote_a_strong_one() -> None:
    strong, weak = [0.9, 0.1, 0.0], [0.0, 0.02, 0.03]
    scores = fused({"words": strong, "meaning": weak}, {}, [1, 2, 3])
    assert scores.index(max(scores)) == 0


def test_a_passage_gains_from_what_else_its_conversation_says() -> None:
    scores = fused({"words": [0.5, 0.5, 0.4, 0.4]}, {}, ["one", "two", "two", "two"])
    assert scores[1] > scores[0]


def test_who_speaks_decides_between_equals() -> None:
    scores = fused({"words": [0.5, 0.5]}, {"speaker": [0.0, 1.0]}, [1, 1])
    assert scores[1] - scores[0] == pytest.approx(BESIDES["speaker"])


@given(
    st.integers(1, 6).flatmap(
        lambda size: st.lists(st.lists(st.floats(-1, 1), min_size=size, max_size=size), min_size=1, max_size=6)
    )
)
def test_more_of_a_signal_never_ranks_a_passage_lower(signals: list[list[float]]) -> None:
    fits = dict(zip(WEIGHTS, signals, strict=False))
    groups = list(range(len(signals[0])))
    before = fused(fits, {}, groups)
    best = max(range(len(groups)), key=before.__getitem__)
    more = {
        name: [value + (0.5 if n == best else 0) for n, value in enumerate(values)] for name, values in fits.items()
    }
    after = fused(more, {}, groups)
    assert after[best] == pytest.approx(max(after))


def test_scaling_makes_the_best_one_and_never_less_than_nothing() -> None:
    assert scaled([0.2, 0.4, -0.1], 0.1) == [0.5, 1.0, 0.0]
    assert scaled([0.01], 0.1) == [pytest.approx(0.1)]


class Said:
    """Turns of one conversation, read for the words `wanted`."""

    def __init__(self, db: Database, *texts: str, groups: tuple[int, ...] = (), wanted: tuple[str, ...]) -> None:
        of = groups or (1,) * len(texts)
        spoken = {n: Spoken(n, of[n - 1], text, n * 1000, "user", "") for n, text in enumerate(texts, 1)}
        words = tokenizer(db)
        terms = [Wanted.of(term, weight(1, 100), words) for term in asked(" ".join(wanted)).terms]
        before = {n: n - 1 for n in spoken if n - 1 in spoken and of[n - 1] == of[n - 2]}
        after = {n: n + 1 for n in spoken if n + 1 in spoken and of[n - 1] == of[n]}
        self.passages = Passages(terms, words, spoken, list(spoken), before=before, after=after)


def test_an_answer_is_read_with_the_question_before_it(db: Database) -> None:
    said = Said(db, "Where did you spend the holidays?", "In Porto.", "Nice.", "Yes.", wanted=("holidays",))
    fits = said.passages.fits()
    assert fits["words"][1] == 0
    assert fits["pair"][1] > 0
    assert fits["window"][2] > 0
    assert fits["window"][3] == 0


def test_a_long_turn_neither_lends_nor_borrows(db: Database) -> None:
    said = Said(db, "Holidays " * SHORT, "In Porto.", wanted=("holidays",))
    assert said.passages.fits()["window"][1] == 0


def test_neighbours_of_another_conversation_lend_nothing(db: Database) -> None:
    said = Said(db, "The holidays were long.", "In Porto.", groups=(1, 2), wanted=("holidays",))
    assert said.passages.fits()["window"][1] == 0


def test_a_long_turn_is_as_strong_as_its_best_piece(db: Database) -> None:
    filler = "Nothing of interest is said in this sentence at all. " * 60
    said = Said(db, f"{filler}The violin was sold in Cork. {filler}", "The violin is old.", wanted=("violin", "Cork"))
    strong, short = said.passages.fits()["words"]
    assert strong > 0.5 * short


@given(st.text(alphabet="ab .!?\n", max_size=5_000))
def test_pieces_lose_no_word(text: str) -> None:
    assert "".join("".join(pieces(text)).split()) == "".join(text.split())
    assert all(len(piece) <= 2 * PIECE for piece in pieces(text))


def test_the_day_of_a_turn_answers_a_date_in_the_question(db: Database) -> None:
    words = tokenizer(db)
    terms = [Wanted.of(term, 1.0, words) for term in asked("3 June 2023 lunch").terms]
    june = Spoken(1, 1, "Soup for lunch.", 1_685_793_600_000, "user", "")
    may = Spoken(2, 2, "Soup for lunch.", 1_684_000_000_000, "user", "")
    fits = Passages(terms, words, {1: june, 2: may}, [1, 2], before={}, after={}).fits()["words"]
    assert fits[0] > fits[1]


def test_the_tokenizer_is_that_of_the_index(db: Database) -> None:
    assert isinstance(db.raw, apsw.Connection)
    assert tokenizer(db)("researching") == tokenizer(db)("researched")
