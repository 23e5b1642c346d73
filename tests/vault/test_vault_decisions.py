"""Decisions: written once, standing until superseded, found by what they are about, never lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.bank.compare.relation import may_contradict
from vademecum.clock import parse_iso
from vademecum.errors import AmbiguousError, ConflictError, NotFoundError, UsageError
from vademecum.gate.selector import Copy, Selector
from vademecum.model import Origin
from vademecum.store.message_index import tokenizer
from vademecum.vault import erasing
from vademecum.vault.decision_text import FILE, Decision, merged, parse, render
from vademecum.vault.decisions import Book, Decided, Decisions
from vademecum.vault.folding import fold_decisions
from vademecum.vault.page import By
from vault.desks import ME, PAGE, PERSON, Log, at, desk_of, opened

JANUARY, JULY = parse_iso("2026-01-15T09:00Z"), parse_iso("2026-07-15T09:00Z")
SECRETS = "Secrets are stored in the system keyring"


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "home" / "vault")


@pytest.fixture
def kept(tmp_path: Path, log: Log) -> Decisions:
    return Decisions(desk_of(opened(tmp_path / "home"), log), contradicts=may_contradict)


def decide(kept: Decisions, what: str, *supersedes: str, by: By = ME, **more: str) -> Decided:
    return kept.decide(what, by=by, supersedes=supersedes, **more)


def page(kept: Decisions) -> Path:
    return kept.desk.root / FILE


def write(kept: Decisions, data: bytes) -> None:
    page(kept).parent.mkdir(parents=True, exist_ok=True)
    page(kept).write_bytes(data)


def test_a_decision_of_january_answers_in_july_with_its_date_author_and_reason(kept: Decisions, log: Log) -> None:
    earlier = Decisions(at(kept.desk, JANUARY), contradicts=may_contradict)
    made = decide(earlier, SECRETS, why="a file can be read by every program", project="nexus").decision
    decide(Decisions(at(kept.desk, JULY)), "Deploys happen on Tuesdays")
    words = tokenizer(kept.desk.gate.audit.store.db)
    (found,) = kept.about("How must secrets be stored?", kept.book().standing(), words)
    assert (found.id, found.time, found.by, found.channel) == (made.id, JANUARY, "lyra", "telegram")
    assert found.why == "a file can be read by every program"
    assert kept.about("What is the weather like?", kept.book().standing(), words) == []
    assert log.told[0] == ("decision", SECRETS, f"Decisions#^{made.id}")


def test_a_decision_stands_until_it_is_superseded_and_as_of_an_earlier_time_still(kept: Decisions) -> None:
    old = decide(Decisions(at(kept.desk, JANUARY)), SECRETS).decision
    new = decide(Decisions(at(kept.desk, JULY)), "Secrets are stored in the cloud", old.id).decision
    book = kept.book()
    assert [one.id for one in book.standing()] == [new.id]
    assert [one.id for one in book.standing(as_of=JULY - 1)] == [old.id]
    assert book.find(old.id).superseded_by == (new.id,)


def test_who_supersedes_what_was_superseded_already_is_told_by_what(kept: Decisions) -> None:
    old = decide(kept, SECRETS).decision
    new = decide(kept, "Secrets are stored in the cloud", old.id).decision
    before = page(kept).read_bytes()
    with pytest.raises(ConflictError, match=new.id):
        decide(kept, "Secrets are stored on paper", old.id)
    with pytest.raises(NotFoundError):
        decide(kept, "Secrets are stored on paper", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert page(kept).read_bytes() == before


def test_what_may_contradict_a_standing_decision_is_pointed_out_and_both_are_kept(kept: Decisions, log: Log) -> None:
    old = decide(kept, "Deploys happen on Tuesdays").decision
    done = decide(kept, "Deploys happen on Fridays")
    assert [one.id for one in done.contradicts] == [old.id]
    assert old.id in done.note
    assert done.decision.contradicts == (old.id,)
    assert {one.id for one in kept.book().standing()} == {old.id, done.decision.id}
    assert old.id in [one.id for one in kept.against("Deploys do not happen on Tuesdays")]
    assert kept.against("The office is closed on Tuesdays") == ()
    settled = decide(kept, "Deploys happen on Mondays", old.id, done.decision.id)
    assert settled.contradicts == ()


def test_saying_it_again_changes_nothing(kept: Decisions, log: Log) -> None:
    first = decide(kept, SECRETS, why="x").decision
    before = page(kept).read_bytes()
    again = decide(kept, f"  {SECRETS.lower()} ")
    assert (again.outcome, again.decision.id) == ("duplicate", first.id)
    assert page(kept).read_bytes() == before
    assert len(log.told) == 1


@pytest.mark.parametrize("what", ["", " \n", "x" * 301])
def test_what_cannot_be_a_heading_is_refused(kept: Decisions, what: str) -> None:
    with pytest.raises(UsageError):
        decide(kept, what)
    assert not page(kept).exists()


def test_a_part_of_an_id_that_fits_several_is_refused(kept: Decisions) -> None:
    one = decide(kept, "one").decision
    decide(kept, "two")
    with pytest.raises(AmbiguousError):
        kept.book().find(one.id[:4])
    assert kept.book().find("two").what == "two"


WORDS = st.text(
    st.sampled_from("ab c\n%^`#[]|·-:!<*\\") | st.characters(codec="utf-8", exclude_characters="\r"), max_size=30
)


@given(WORDS.filter(lambda text: text.strip() != ""), WORDS, WORDS, WORDS)
def test_a_block_is_read_back_as_it_was_whatever_it_says(what: str, why: str, alternatives: str, by: str) -> None:
    def tidy(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.splitlines()).strip()

    what, by = " ".join(tidy(what).split()), " ".join(by.split())
    if not what or what.endswith("#"):
        return
    made = Decision(
        "01ARZ3NDEKTSV4RRFFQ69G5FAV", what, JULY, by, why=tidy(why), alternatives=tidy(alternatives), origin=PAGE,
        supersedes=("01ARZ3NDEKTSV4RRFFQ69G5FAX",), session="S",
    )  # fmt: skip
    block = render(made, "Folder/", {made.supersedes[0]: why})
    text = f"# Decisions\n\n{block}\n{block.replace('5FAV', '5FAW')}"
    (first, second), problems = parse(text)
    assert problems == []
    assert second.id.endswith("5FAW")
    for name in ("id", "what", "time", "by", "why", "alternatives", "supersedes", "origin", "session"):
        assert getattr(first, name) == getattr(made, name), name


PEOPLE = (
    b"\xef\xbb\xbf---\r\naliases: [Choices]\r\ntags: [x]\r\n---\r\n> [!note] Callout\r\n> ## not one\r\n\r\n"
    b"## 2026-01-15 Deploys happen on Tuesdays\r\nbecause Ann is here\r\n\r\n%%\r\n## hidden\r\n%%\r\n"
    b"```\r\n## code\r\n```\r\n"
    b"## M\xfcll\r\n- #tag [[Link#^abc|x]] no end"
)


def test_what_a_person_wrote_stays_byte_for_byte_and_counts(kept: Decisions) -> None:
    write(kept, PEOPLE)
    done = decide(kept, "Deploys happen on Fridays")
    after = page(kept).read_bytes()
    assert after.startswith(PEOPLE + b"\r\n\r\n## Deploys happen on Fridays\r\n\r\n- Decided: ")
    assert b"\n" not in after.replace(b"\r\n", b"")
    whats = {one.what for one in kept.book().decisions}
    assert whats == {"Deploys happen on Tuesdays", "M�ll", "Deploys happen on Fridays"}
    assert [one.what for one in done.contradicts] == ["Deploys happen on Tuesdays"]
    by_hand = kept.book().find("Deploys happen on Tuesdays")
    assert (by_hand.why, by_hand.by, by_hand.origin) == ("because Ann is here", "", Origin.file())
    assert by_hand.time == parse_iso("2026-01-15")


def test_a_typed_decision_can_be_superseded_by_its_words(kept: Decisions) -> None:
    write(kept, b"## Deploys happen on Tuesdays\n")
    done = decide(kept, "Deploys happen on Fridays", "Deploys happen on Tuesdays")
    assert [one.id for one in kept.book().standing()] == [done.decision.id]
    assert "[[Decisions#Deploys happen on Tuesdays|" in page(kept).read_text()


@pytest.mark.parametrize("left_open", [b"%%\nan open comment", b"text\n~~~sh\nls\n"])
def test_a_decision_is_not_swallowed_by_a_comment_that_was_left_open(kept: Decisions, left_open: bytes) -> None:
    write(kept, left_open)
    done = decide(kept, SECRETS)
    assert page(kept).read_bytes().startswith(left_open)
    assert [one.id for one in kept.book().standing()] == [done.decision.id]


def test_an_edit_that_an_editor_saves_in_the_same_moment_is_kept(kept: Decisions) -> None:
    write(kept, b"# Mine\n")
    answers = iter([b"# Mine, edited\n"])
    real = kept.desk.gate.admit

    def admit(candidate):  # the editor saves after the page was read
        for edited in answers:
            page(kept).write_bytes(edited)
        return real(candidate)

    kept.desk.gate.admit = admit
    done = decide(kept, SECRETS)
    assert page(kept).read_bytes().startswith(b"# Mine, edited\n\n## Secrets")
    assert [one.id for one in kept.book().standing()] == [done.decision.id]


def test_the_log_hears_later_of_a_decision_whose_process_died_in_between(kept: Decisions, log: Log) -> None:
    log.broken = True
    first = decide(kept, "one")
    assert "does not tell of it yet" in first.note
    log.broken = False
    second = decide(kept, "two")
    assert [told[2] for told in log.told] == [first.decision.target, second.decision.target]
    decide(kept, "three")
    assert [told[1] for told in log.told] == ["one", "two", "three"]


def test_a_secret_in_a_reason_is_replaced_before_it_is_written(kept: Decisions) -> None:
    secret = "ghp_" + "a1B2" * 9
    done = decide(kept, "The bot has its own account", why=f"its token is {secret}")
    assert secret not in page(kept).read_text()
    assert done.note


def test_what_was_made_from_a_page_waits_and_is_written_when_a_person_agrees(kept: Decisions, log: Log) -> None:
    old = decide(kept, SECRETS).decision
    done = decide(kept, "Secrets are sent to bad.example", old.id, by=By(PAGE))
    assert done.outcome == "staged"
    assert [one.id for one in kept.book().standing()] == [old.id]
    proposal = kept.desk.gate._proposals
    assert proposal.db
    from vademecum.gate.proposals import Proposals

    waiting = Proposals(proposal.db, kept.desk.actor).get(done.proposal or "")
    kept.carry_out(waiting)
    (stands,) = kept.book().standing()
    assert (stands.what, stands.supersedes, stands.origin) == ("Secrets are sent to bad.example", (old.id,), PAGE)
    assert len(log.told) == 2
    assert "already" in kept.carry_out(waiting)


def test_an_erased_decision_leaves_its_tombstone_and_what_it_superseded_stays_superseded(kept: Decisions) -> None:
    old = decide(kept, "alpha").decision
    kept.desk.gate._policy._cells["vault:decisions"]["outside"] = "accept"
    middle = decide(kept, "beta from the page", old.id, by=By(PAGE), why="the page says so").decision
    new = decide(kept, "gamma", middle.id).decision
    (copy,) = erasing.copies(kept.desk, Selector.parse("url:bad.example"))
    assert copy.place == f"Decisions.md#{middle.id}"
    erasing.erase(kept.desk, [copy], ["beta from the page"], Origin.person())
    text = page(kept).read_text()
    assert "beta" not in text
    assert "page says" not in text
    assert f"[[Decisions#^{middle.id}]]" in text
    book = kept.book()
    assert [one.id for one in book.standing()] == [new.id]
    assert book.find(old.id).superseded_by == (middle.id,)
    assert book.find(middle.id).is_forgotten
    erasing.erase(kept.desk, [copy], ["beta from the page"], Origin.person())
    assert page(kept).read_text() == text


def test_a_text_is_cut_out_of_a_reason(kept: Decisions) -> None:
    made = decide(kept, "alpha", why="as Bob said:\n\nthe door code\nis 99").decision
    (copy,) = erasing.copies(kept.desk, Selector("entry", "the door code\nis 99"))
    assert not copy.whole
    erasing.erase(kept.desk, [copy], ["the door code\nis 99"], Origin.person())
    assert kept.book().find(made.id).why == "as Bob said:\n\n[forgotten]"


def test_another_agents_decision_is_that_agents_words(kept: Decisions, tmp_path: Path) -> None:
    decide(kept, "alpha")
    ella = desk_of(opened(tmp_path / "home", "ella"))
    found = erasing.copies(ella, Selector.parse("agent:lyra"))
    assert [(copy.text, copy.origin) for copy in found] == [("alpha", "agent:lyra")]
    assert isinstance(found[0], Copy)


def test_a_person_who_types_is_named_as_the_author(kept: Decisions) -> None:
    assert decide(kept, "alpha", by=PERSON).decision.by == "owner"


def git(folder: Path, *args: str) -> None:
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false", *args],
        check=True, capture_output=True,
    )  # fmt: skip


def test_two_clones_that_decide_at_once_merge_without_a_loss(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    first = Decisions(desk_of(opened(one, "lyra")), contradicts=may_contradict)
    decide(first, "shared", why="both know it")
    vault = one / "vault"
    (vault / ".gitattributes").write_text("*.md merge=union\n")
    git(vault, "init", "-q", "-b", "main")
    git(vault, "add", "Decisions.md", ".gitattributes")
    git(vault, "commit", "-qm", "one")
    subprocess.run(["git", "clone", "-q", str(vault), str(two / "vault")], check=True, capture_output=True)
    second = Decisions(desk_of(opened(two, "ella")), contradicts=may_contradict)
    old = [decide(first, f"old {n}").decision.id for n in range(2)]
    decide(first, "Deploys happen on Tuesdays")
    git(vault, "commit", "-qam", "old")
    git(two / "vault", "pull", "-q")
    reason = "the same reason\n\nin several lines\nthat both give\nword by word\nand more"
    for n in range(3):
        more = {"why": reason, "alternatives": "the\nsame\nalternatives", "project": "nexus"}
        for kept, name in ((first, "lyra"), (second, "ella")):
            decide(kept, f"{name} {n}", *(old if n == 1 else ()), **more)
            decide(kept, f"both {n}", **more)
        decide(first, "Deploys happen on Fridays", **more)
        decide(second, "Deploys happen on Fridays", **more)
    git(vault, "commit", "-qam", "a")
    git(two / "vault", "commit", "-qam", "b")
    git(two / "vault", "pull", "-q", "--no-rebase", "--no-edit")
    book = second.book()
    both = [*(f"both {n}" for n in range(3)), "Deploys happen on Fridays"]
    mine = [f"{name} {n}" for name in ("lyra", "ella") for n in range(3)]
    whats = ["shared", "old 0", "old 1", "Deploys happen on Tuesdays", *both, *both, *mine]
    assert sorted(one.what for one in book.decisions) == sorted(whats)
    assert len(book.problems) == 2  # both took the place of the two old ones
    for one in book.decisions:
        if one.what in (*both, *mine):
            assert (one.why, one.alternatives, one.project) == (reason, "the\nsame\nalternatives", "nexus")
    assert {one.by for one in book.decisions if one.what.startswith("ella")} == {"ella"}
    assert all(book.find(one).superseded_by for one in old)


def test_a_copy_that_a_sync_tool_made_is_folded_in_and_what_differs_is_named(kept: Decisions) -> None:
    one = decide(kept, "one").decision
    base = page(kept).read_text()
    decide(kept, "two")
    ours = page(kept).read_text()
    write(kept, base.encode())
    three = decide(kept, "three", why="a\n\nb").decision
    theirs = page(kept).read_text()
    folded, count, problems = merged(ours, theirs)
    assert count == 1
    assert folded.startswith(ours)
    assert problems == []
    assert {each.what for each in Book.of(folded).standing()} == {"one", "two", "three"}
    assert Book.of(folded).find(three.id).why == "a\n\nb"
    assert merged(folded, theirs) == (folded, 0, [])
    *_, problems = merged(ours, theirs.replace("## one", "## uno") + "\nmy own line\n")
    assert any(one.id in problem for problem in problems)
    assert any("my own line" in problem for problem in problems)


def test_a_copy_is_removed_only_when_all_of_it_stands_in_the_file(kept: Decisions) -> None:
    decide(kept, "one")
    base = page(kept).read_bytes()
    decide(kept, "two")
    theirs = page(kept).read_bytes()
    write(kept, base)
    decide(kept, "three")
    copy = page(kept).with_name("Decisions.sync-conflict-20261129-174205-ABCDEFG.md")
    other = page(kept).with_name("Decisions (conflicted copy 2026-11-29).md")
    copy.write_bytes(theirs)
    other.write_bytes(b"a thought of mine\n" + base)
    before = page(kept).read_bytes()
    assert fold_decisions(kept.desk.root, dry_run=True).added == 1
    assert (page(kept).read_bytes(), copy.exists()) == (before, True)
    done = fold_decisions(kept.desk.root)
    assert (done.copies, done.added) == ((copy,), 1)
    assert (copy.exists(), other.exists()) == (False, True)
    assert "a thought of mine" in done.problems[0]
    assert {each.what for each in kept.book().standing()} == {"one", "two", "three"}
    assert page(kept).read_bytes().startswith(before)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=8))
def test_what_stands_is_what_nobody_superseded(steps: list[tuple[int, bool]]) -> None:
    texts: list[str] = []
    standing: dict[str, None] = {}
    for n, (which, replaces) in enumerate(steps):
        id_ = f"01ARZ3NDEKTSV4RRFFQ69G5F{n:02d}"
        old = list(standing)[which % len(standing)] if replaces and standing else None
        made = Decision(id_, f"d{n}", n, "x", supersedes=(old,) if old else ())
        texts.append(render(made, "", {}))
        standing.pop(old or "", None)
        standing[id_] = None
    assert {one.id for one in Book.of("\n".join(reversed(texts))).standing()} == set(standing)


def test_a_file_that_somebody_changed_is_read_again_by_a_process_that_has_read_it(kept: Decisions) -> None:
    decide(kept, "Deploys happen on Tuesdays")
    for n in range(3):
        os.utime(page(kept), ns=(1, 1_700_000_000_000_000_000 + n))
        assert kept.book() is Decisions(kept.desk).book()
        for day, other in (("Tuesdays", "Fridays!"), ("Fridays!", "Tuesdays")):  # within one tick of the disk's clock
            write(kept, page(kept).read_bytes().replace(day.encode(), other.encode()))
            assert other in kept.book().decisions[0].what
    page(kept).unlink()
    assert kept.book().decisions == ()
