"""What waits: for how long, how much of it from one source, and what does not come back."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vademecum.config import GateConfig
from vademecum.errors import ConflictError, NotFoundError, RefusedError
from vademecum.gate.candidate import Candidate
from vademecum.gate.keys import key_of, said, sources_of
from vademecum.gate.proposals import Proposals, sha256_of
from vademecum.home import Home
from vademecum.model import Actor, Origin
from vademecum.store import Database, migrate
from vademecum.store.counts import read_counts
from vademecum.store.schema import MIGRATIONS

OWNER, BOB = Actor(), Actor(user="bob")
WEB = Origin.tool("web_fetch", "https://www.example.org/page")
DAY = 86_400_000


class Now:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.ms = 1_000

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def proposals(db: Database, now: Now) -> Proposals:
    return Proposals(db, OWNER, now, GateConfig(proposals_per_source=3))


def wants(text: str = "Likes tea.", origin: Origin = WEB, **more: object) -> Candidate:
    return replace(Candidate("core", "add", "memory", text, origin, OWNER), **more)  # type: ignore[arg-type]


# what binds a proposal


def test_a_proposal_names_the_hash_of_what_it_would_replace_its_source_and_its_end(proposals: Proposals) -> None:
    made = proposals.add(wants("new", action="replace", before="old"))
    assert (made.base, made.source, made.expires_at) == (
        sha256_of("old"),
        "tool:web_fetch#example.org",
        1_000 + 30 * DAY,
    )
    assert proposals.get(made.id) == made


def test_what_has_expired_no_longer_waits_but_can_be_looked_at(proposals: Proposals, now: Now, db: Database) -> None:
    made = proposals.add(wants())
    now.ms = made.expires_at - 1 if made.expires_at else 0
    assert [p.id for p in proposals.pending()] == [made.id]
    assert proposals.past() == []
    now.ms += 1
    assert proposals.pending() == []
    assert [(p.id, p.status, p.text) for p in proposals.past()] == [(made.id, "expired", "Likes tea.")]
    assert proposals.get(made.id).status == "expired"
    assert read_counts(db).pending == 0


def test_what_has_expired_can_be_proposed_again_and_rejected_for_good(proposals: Proposals, now: Now) -> None:
    first = proposals.add(wants())
    now.ms += 31 * DAY
    again = proposals.add(wants())
    assert again.id != first.id
    proposals.set_status(first.id, "rejected", "no")
    with pytest.raises(ConflictError):
        proposals.set_status(first.id, "rejected")
    with pytest.raises(RefusedError):
        proposals.add(wants("LIKES TEA"))


def test_with_no_days_a_proposal_waits_for_ever(db: Database, now: Now) -> None:
    proposals = Proposals(db, OWNER, now, GateConfig(proposal_days=0))
    made = proposals.add(wants())
    now.ms += 10_000 * DAY
    assert made.expires_at is None
    assert proposals.pending() == [made]


def test_what_no_longer_waits_is_listed_newest_first_and_within_what_a_user_may_see(
    proposals: Proposals, now: Now, db: Database
) -> None:
    mine, bobs = proposals.add(wants("mine")), proposals.add(wants("bobs", actor=BOB))
    now.ms += 1
    proposals.set_status(mine.id, "approved")
    now.ms += 1
    proposals.set_status(bobs.id, "rejected")
    assert [p.id for p in proposals.past()] == [bobs.id, mine.id]
    assert [p.id for p in proposals.past(1)] == [bobs.id]
    assert [p.id for p in Proposals(db, BOB, now).past()] == [bobs.id]


# a flood


def test_a_source_may_have_only_so_many_waiting_and_the_refusal_says_how_many(proposals: Proposals) -> None:
    for number in range(3):
        proposals.add(wants(f"fact {number}", Origin.tool("web_fetch", f"https://example.org/{number}")))
    with pytest.raises(RefusedError, match="3 proposals") as refused:
        proposals.add(wants("one more", Origin.tool("web_fetch", "https://EXAMPLE.org:8443/other")))
    assert (refused.value.code, refused.value.rule) == ("refused", "flood")
    assert "one more" not in refused.value.message + refused.value.hint
    assert len(proposals.pending()) == 3


@pytest.mark.parametrize(
    "other",
    [
        Origin.tool("web_fetch", "https://example.com/"),
        Origin.tool("browser", "https://example.org/"),
        Origin.connector("mail", "7"),
        Origin.agent("lyra"),
        Origin.assistant(),
    ],
    ids=str,
)
def test_a_flood_leaves_other_sources_room_and_the_older_ones_in_sight(proposals: Proposals, other: Origin) -> None:
    old = proposals.add(wants("what somebody else had to say", other))
    for number in range(3):
        proposals.add(wants(f"fact {number}"))
    with pytest.raises(RefusedError):
        proposals.add(wants("fact 3"))
    assert proposals.add(wants("and more", other)).text == "and more"
    assert proposals.pending()[0] == old


def test_names_below_a_registered_one_are_one_source_and_addresses_are_their_own(proposals: Proposals) -> None:
    for number in range(3):
        proposals.add(wants(f"fact {number}", Origin.tool("web_fetch", f"https://a{number}.b.example.co.uk/")))
    with pytest.raises(RefusedError, match=r"example\.co\.uk"):
        proposals.add(wants("more", Origin.tool("web_fetch", "https://example.co.uk/")))
    for url in ("https://other.co.uk/", "http://10.0.0.1/", "http://11.0.0.1/", "http://[::1]/"):
        assert proposals.add(wants(url, Origin.tool("web_fetch", url))).status == "pending"


def test_all_that_is_outside_together_may_have_ten_times_as_many_waiting(proposals: Proposals) -> None:
    for number in range(30):
        proposals.add(wants(f"fact {number}", Origin.tool("web_fetch", f"https://e{number}.example/")))
    with pytest.raises(RefusedError, match="all that is outside together") as refused:
        proposals.add(wants("more", Origin.connector("mail", "1")))
    assert refused.value.rule == "flood"
    assert proposals.add(wants("the assistant's own", Origin.assistant())).status == "pending"


def test_a_flood_counts_by_every_source_that_a_text_was_made_from(proposals: Proposals) -> None:
    mail = Origin.connector("mail", "1")
    for number in range(3):
        proposals.add(wants(f"fact {number}", Origin.assistant().joined(WEB, mail)))
    for origin in (WEB, Origin.connector("mail", "2"), Origin.assistant().joined(mail)):
        with pytest.raises(RefusedError):
            proposals.add(wants("more", origin))
    assert proposals.add(wants("the assistant's own", Origin.assistant())).status == "pending"


def test_what_was_decided_or_has_expired_makes_room(proposals: Proposals, now: Now) -> None:
    made = [proposals.add(wants(f"fact {number}")) for number in range(3)]
    proposals.set_status(made[0].id, "approved")
    proposals.add(wants("fact 3"))
    with pytest.raises(RefusedError):
        proposals.add(wants("fact 4"))
    now.ms += 31 * DAY
    assert proposals.add(wants("fact 4")).status == "pending"


def test_an_equal_proposal_is_no_flood(proposals: Proposals) -> None:
    made = [proposals.add(wants(f"fact {number}")) for number in range(3)]
    assert proposals.add(wants("fact 1")) == made[1]


def test_the_sources_of_an_origin_are_tool_and_host_connector_or_agent() -> None:
    assert sources_of(Origin.tool("web", "https://WWW.Example.org:8080/a?b#c")) == ("tool:web#example.org",)
    assert sources_of(Origin.tool("web", "http://[bad")) == ("tool:web#http%3A//%5Bbad",)
    assert sources_of(Origin.tool("mcp:x")) == ("tool:mcp%3Ax",)
    assert sources_of(Origin.connector("mail", "7", "r1")) == ("connector:mail",)
    assert sources_of(Origin.user("bob").joined(WEB, WEB)) == ("tool:web_fetch#example.org",)
    assert sources_of(Origin.assistant().joined(Origin.user("bob"))) == ("assistant", "user:bob")


# what was rejected

SAID = "Prefers Zürich – not “Basel”; pays 1.5 € on Mondays!"
PARAPHRASES = [
    SAID.upper(),
    SAID.lower(),
    SAID.replace(" ", "\n  "),
    SAID.replace("–", "-").replace("“", '"').replace("”", '"'),
    SAID.replace(";", ",").rstrip("!"),
    unicodedata.normalize("NFD", SAID),
    "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c not in "." else c for c in SAID),
    f"  * {SAID} *  ",
    f"1. {SAID}",
    f"(12) {SAID}",
    f"{SAID} 👍🏽",
    f"✅ {SAID} 👨‍👩‍👧",
    f"---\nname: Anna\ndescription: what she likes\n---\n\n{SAID}\n",
]


@pytest.mark.parametrize("text", PARAPHRASES)
def test_a_rejected_text_does_not_come_back_in_other_spelling(proposals: Proposals, text: str) -> None:
    proposals.set_status(proposals.add(wants(SAID)).id, "rejected", "not true")
    with pytest.raises(RefusedError, match="not true") as refused:
        proposals.add(wants(text, Origin.agent("lyra")))
    assert refused.value.rule == "rejected-before"
    assert text not in refused.value.message
    assert proposals.pending() == []


@pytest.mark.parametrize("more", [{"target": "user"}, {"tier": "facts"}, {"action": "replace", "before": "x"}], ids=str)
def test_a_rejected_text_does_not_come_back_for_another_place(proposals: Proposals, more: dict[str, object]) -> None:
    proposals.set_status(proposals.add(wants()).id, "rejected")
    with pytest.raises(RefusedError):
        proposals.add(wants(**more))


@pytest.mark.parametrize(
    "text", [SAID.replace("1.5", "15"), SAID.replace("not ", ""), SAID.replace("ü", "u"), f"3 {SAID}"]
)
def test_what_says_something_else_can_be_proposed(proposals: Proposals, text: str) -> None:
    proposals.set_status(proposals.add(wants(SAID)).id, "rejected")
    assert proposals.add(wants(text)).status == "pending"


def test_a_rejected_removal_is_that_of_its_entry_only(proposals: Proposals) -> None:
    removal = wants("", action="remove", before="Likes tea.")
    proposals.set_status(proposals.add(removal).id, "rejected")
    with pytest.raises(RefusedError):
        proposals.add(replace(removal, before="likes TEA"))
    assert proposals.add(replace(removal, before="Likes coffee.")).status == "pending"
    assert proposals.add(replace(removal, target="user")).status == "pending"
    assert proposals.add(wants("Likes tea.")).status == "pending"


def test_what_one_user_rejected_can_be_proposed_for_another(proposals: Proposals) -> None:
    proposals.set_status(proposals.add(wants(actor=BOB)).id, "rejected")
    assert proposals.add(wants()).status == "pending"


def test_a_rejection_without_a_key_is_remembered_to_the_letter(proposals: Proposals, db: Database) -> None:
    proposals.set_status(proposals.add(wants()).id, "rejected")
    db.execute("UPDATE proposals SET key = ''")
    with pytest.raises(RefusedError):
        proposals.add(wants())
    assert proposals.add(wants("likes tea")).status == "pending"


@given(st.text(max_size=40))
def test_what_is_left_of_a_text_is_left_of_itself_and_of_every_form_of_it(text: str) -> None:
    left = said(text)
    assert said(left) == left
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert said(unicodedata.normalize(form, text)) == left
    if any(character.isalnum() for character in left):
        assert said(f"\n{text} !") == left


def test_a_text_of_nothing_but_punctuation_is_itself() -> None:
    keys = [key_of(wants(text)) for text in ("?!", "...", "", "a")]
    assert len(set(keys)) == len(keys)


def test_a_database_from_before_gets_the_columns_and_keeps_what_waits(home: Home, now: Now) -> None:
    older = Database(home.database)
    for name, sql in MIGRATIONS:
        if name == "gate":
            older.execute(sql)
    older.execute("CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT")
    older.execute("INSERT INTO migrations VALUES ('gate', 0)")
    older.execute(
        "INSERT INTO proposals (id, agent, user, tier, action, target, text, sha256, origin, created_at)"
        " VALUES ('X', 'default', 'owner', 'core', 'add', 'memory', 'kept', ?, 'assistant', 5)",
        (sha256_of("kept"),),
    )
    migrate(older)
    (kept,) = Proposals(older, OWNER, now).pending()
    assert (kept.text, kept.base, kept.expires_at, kept.source) == ("kept", sha256_of(""), None, "")
    with pytest.raises(NotFoundError):
        Proposals(older, OWNER, now).get("Y")
