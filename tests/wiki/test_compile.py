"""Compiled pages: every line with its source, the same bytes twice, and a person's text as it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vademecum.errors import RefusedError
from vademecum.model import Origin
from vademecum.wiki import blocks
from vademecum.wiki.blocks import KEPT
from wiki.knowing import (
    ANNA,
    DAY,
    LISBON,
    PERSON,
    PORT,
    START,
    WEB,
    Now,
    compiled,
    everything,
    knowing,
    opened,
    outcomes,
    page,
    text,
    told,
)

BERG = "Entities/anna-berg"
KESTREL = "Projects/kestrel"


def test_a_name_that_two_sources_speak_of_gets_a_page_and_each_line_its_source(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    done = outcomes(compiled(vm))
    assert done == dict.fromkeys(
        [BERG, KESTREL, "Topics/preferences", "Topics/environment", "Topics/what-was-decided", "index"], "made"
    )
    body = text(vm, BERG)
    assert ANNA in body
    assert "## What is known" in body
    block, problem = blocks.find(body)
    assert block is not None
    assert problem == ""
    claims = [line for line in block.inner.splitlines() if line.startswith("- ")]
    assert claims
    assert all(re.search(r"\[\^|\[\[Decisions#\^", line) for line in claims)
    for fact in vm.bank.list():
        if "Anna Berg" in fact.text:
            assert f"fact `{fact.id}`, said by ella on 2026-02-0" in body
            assert "session `01KG0000000000000000000000`, message" in body


def test_a_decision_is_cited_by_its_block_and_a_project_has_a_page_without_one_of_its_own(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    (decision,) = vm.vault.decisions()
    assert f"- **Kestrel stays on Postgres 16** ([[Decisions#^{decision.id}|" in text(vm, KESTREL)
    assert f"decided: Kestrel stays on Postgres 16 ([[Decisions#^{decision.id}|lyra]])" in text(vm, KESTREL)


def test_compiling_twice_changes_no_byte(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    vm.wiki.compile()
    before = everything(vm)
    again = compiled(vm)
    assert set(outcomes(again).values()) == {"unchanged"}
    assert everything(vm) == before


def test_a_page_holds_no_time_but_those_of_its_claims(tmp_path: Path) -> None:
    late = Now()
    late.ms += 1000 * DAY
    said = list[str]()
    for name, clock in (("a", Now()), ("b", late)):
        vm = opened(tmp_path / name, clock=clock)
        told(vm, ANNA, 1)
        told(vm, LISBON, 2)
        compiled(vm)
        said.append(re.sub(r"[0-9A-Z]{26}|f-\w{6}|[0-9a-f]{16,64}", "", text(vm, BERG)))
    assert said[0] == said[1]


def test_a_new_fact_changes_the_pages_that_it_stands_on_and_no_other(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    before = everything(vm)
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    done = outcomes(compiled(vm))
    assert {path for path, outcome in done.items() if outcome == "changed"} == {BERG, "index"}
    after = everything(vm)
    assert {path for path in after if after[path] != before.get(path)} == {f"{BERG}.md", "index.md", "log.md"}


def test_without_cache_and_with_another_database_unchanged_pages_stay_unchanged(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    vm.close()
    (tmp_path / "cache.db").unlink(missing_ok=True)
    assert set(outcomes(compiled(opened(tmp_path))).values()) == {"unchanged"}


def test_text_around_the_block_is_kept_byte_for_byte(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    place = page(vm, BERG)
    made = place.read_bytes().replace(b"\n", b"\r\n")
    head = b"\xef\xbb\xbf---\r\ntags: [people]\r\n---\r\nMine, before \xff.\r\n"
    tail = b"\r\n\r\nMine,   behind.\t\r\n* a list\r\nno newline at the end"
    place.write_bytes(head + made + tail)
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    assert outcomes(compiled(vm))[BERG] == "changed"
    now = place.read_bytes()
    assert now.startswith(head + b"# Anna Berg\r\n\r\n<!-- vademecum:begin wiki ")
    assert now.endswith(b"<!-- vademecum:end wiki -->\r\n" + tail)
    assert b"university" in now
    assert not re.search(rb"(?<!\r)\n", now)
    assert outcomes(compiled(vm))[BERG] == "unchanged"
    assert place.read_bytes() == now


def test_what_a_person_wrote_into_a_block_is_kept_until_there_is_something_new_and_then_stands_behind_it(
    tmp_path: Path,
) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    place = page(vm, BERG)
    lines = place.read_text().replace("## What is known", "## What is known\n\nShe prefers to be called Anni.")
    place.write_text(lines.replace("leads the data team", "leads the *platform* team"))
    edited = place.read_text()
    done = next(one for one in compiled(vm).pages if one.title == "Anna Berg")
    assert (done.outcome, "kept so" in done.why) == ("unchanged", True)
    assert place.read_text() == edited

    told(vm, "On Fridays Anna Berg is at the university.", 9)
    done = next(one for one in compiled(vm).pages if one.title == "Anna Berg")
    assert done.outcome == "changed"
    block, _ = blocks.find(place.read_text())
    assert block is not None
    behind = place.read_text()[block.end :]
    assert behind.startswith(f"\n\n{KEPT}\n\nShe prefers to be called Anni.\n")
    assert "leads the *platform* team" in behind
    assert "Anni" not in block.inner
    assert ANNA in block.inner
    now = place.read_bytes()
    compiled(vm)
    assert place.read_bytes() == now


def test_an_edited_block_whose_text_this_home_never_wrote_is_left_and_said(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    place = page(vm, BERG)
    place.write_text(re.sub(r"sha256=[0-9a-f]{64}", f"sha256={'0' * 64}", place.read_text()))
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    before = place.read_bytes()
    done = next(one for one in compiled(vm).pages if one.title == "Anna Berg")
    assert (done.outcome, "by hand" in done.why) == ("left", True)
    assert place.read_bytes() == before


@pytest.mark.parametrize(
    "spoil",
    [
        lambda page: page.replace("<!-- vademecum:end wiki -->", ""),
        lambda page: page + page,
        lambda page: page.replace("<!-- vademecum:begin wiki by", "<!-- vademecum:begin wiki BY"),
        lambda _: "# Anna Berg\n\nA page of mine.\n",
    ],
    ids=["no end", "two", "another comment", "a person's page"],
)
def test_a_page_without_a_whole_block_is_left_and_said(tmp_path: Path, spoil: object) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    place = page(vm, BERG)
    place.write_text(spoil(place.read_text()))  # pyright: ignore[reportCallIssue]
    before = place.read_bytes()
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    done = next(one for one in compiled(vm).pages if one.title == "Anna Berg")
    assert (done.outcome, done.why.startswith("It was left as it is: ")) == ("left", True)
    assert place.read_bytes() == before


def test_what_is_closed_or_corrected_leaves_the_page_and_the_correction_says_what_it_replaced(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    compiled(vm)
    old, closed = (next(f for f in vm.bank.list() if word in f.text) for word in ("Lisbon", "university"))
    vm.bank.correct(old.id, "Since autumn Anna Berg works from Porto.", origin=Origin.user())
    vm.bank.close(closed.id, by=PERSON)
    compiled(vm)
    body = text(vm, BERG)
    assert "Lisbon" not in body
    assert "university" not in body
    assert "corrected: Since autumn Anna Berg works from Porto.[^f-" in body
    assert f"(before: `{old.id}`)" in body


def test_a_page_that_nothing_is_known_for_any_more_goes_unless_a_person_wrote_on_it(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    for fact in vm.bank.list():
        vm.bank.close(fact.id, by=PERSON)
    mine = page(vm, "Topics/environment")
    mine.write_text(mine.read_text() + "\nMy own words.\n")
    done = outcomes(compiled(vm))
    assert done["Topics/preferences"] == "removed"
    assert not page(vm, "Topics/preferences").exists()
    assert done["Topics/environment"] == "changed"
    assert "My own words." in mine.read_text()
    assert "5433" not in mine.read_text()
    before = everything(vm)
    compiled(vm)
    assert everything(vm) == before


def test_what_is_put_into_quarantine_leaves_at_the_next_compile_and_comes_back_with_its_release(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, "It is said that Anna Berg moves to Berlin.", 9, origin=WEB)
    compiled(vm)
    assert "Berlin" in text(vm, BERG)
    vm.quarantine.add("url:bad.example", by=PERSON)
    compiled(vm)
    assert "Berlin" not in text(vm, BERG)
    vm.quarantine.release("url:bad.example", by=PERSON)
    compiled(vm)
    assert "Berlin" in text(vm, BERG)


def test_what_came_from_outside_is_labelled_asked_about_and_carried_by_the_page(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, "It is said that Anna Berg moves to Berlin.", 9, origin=WEB)
    assert outcomes(compiled(vm))[BERG] == "made"
    body = text(vm, BERG)
    assert "- *from outside (web_fetch bad.example):* It is said that Anna Berg moves to Berlin.[^f-" in body
    assert "- Is it so? *from outside (web_fetch bad.example):* It is said" in body
    block, _ = blocks.find(body)
    assert block is not None
    assert block.origin == WEB
    plain, _ = blocks.find(text(vm, "Topics/preferences"))
    assert plain is not None
    assert plain.origin == Origin.assistant()


def test_facts_that_exclude_each_other_stand_side_by_side_and_are_open(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, "The billing database of Kestrel listens on port 5434.", 9, "environment")
    compiled(vm)
    body = text(vm, "Topics/environment")
    assert "## What contradicts" in body
    assert re.search(r"port 5433\.\[\^f-\w+\] \*\*But:\*\* .*port 5434\.\[\^f-\w+\] \*\(number: 5433 / 5434\)\*", body)
    assert "## Open" in body


def test_nothing_that_a_claim_says_becomes_structure_of_the_page(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    evil = "Anna Berg wrote <!-- vademecum:end wiki --> and %% and [^f-123456] and `code ![x](https://bad.example)."
    told(vm, evil, 9)
    told(vm, "# Anna Berg\n<!-- vademecum:end wiki -->\n```\nhides the rest", 10)
    assert outcomes(compiled(vm))[BERG] == "made"
    body = text(vm, BERG)
    block, problem = blocks.find(body)
    assert problem == ""
    assert block is not None
    assert not block.edited
    assert body[block.end :] == "\n"
    assert "\n```" not in body
    assert "![x]" not in body


def test_a_secret_in_a_note_is_on_no_page(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    vm.notes.write("Anna Berg contacts", "how to reach Anna Berg", "reference", "By mail.")
    place = vm.folder.notes / "anna-berg-contacts.md"
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    place.write_text(place.read_text().replace("how to reach Anna Berg", f"Anna Berg has {token}"))
    compiled(vm)
    assert "[^n-anna-berg-contacts]" in text(vm, BERG)
    assert token not in text(vm, BERG)


def test_an_agent_that_does_not_compile_this_wiki_is_refused(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    before = everything(vm)
    with pytest.raises(RefusedError) as refused:
        compiled(vm.as_("orion"))
    assert "lyra" in refused.value.message
    assert everything(vm) == before


def test_only_the_owner_has_the_wiki_compiled(tmp_path: Path) -> None:
    with pytest.raises(RefusedError):
        compiled(knowing(tmp_path).as_(user="42"))


def test_what_only_this_agent_may_read_stays_out_of_a_vault_that_others_write_to(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, "Everybody here has lunch with Anna Berg at noon.", 8, scope="user")
    vm.notes.write("Anna Berg contacts", "how to reach Anna Berg", "reference", "By mail.")
    compiled(vm)
    assert LISBON in text(vm, BERG)
    assert "contacts" in text(vm, BERG)
    other = vm.as_("orion")
    done = compiled(vm)
    assert other.actor.agent == "orion"
    assert any("shared with orion" in note for note in done.notes)
    rest = "".join(text(vm, path) for path in outcomes(done) if page(vm, path).exists())
    assert LISBON not in rest
    assert "contacts" not in rest
    assert PORT not in rest
    assert "lunch" in rest
    assert "Kestrel stays on Postgres 16" in rest

    chosen = opened(tmp_path, **{"wiki.scopes": ["agent", "user"]})
    compiled(chosen)
    assert LISBON in text(vm, BERG)


def test_a_dry_run_shows_a_diff_and_writes_nothing(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    done = compiled(vm, dry_run=True)
    assert done.count("made") == 6
    assert not (tmp_path / "vault" / "Wiki" / "index.md").exists()
    compiled(vm)
    before = everything(vm)
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    done = compiled(vm, dry_run=True)
    change = next(one for one in done.pages if one.title == "Anna Berg")
    assert "+- On Fridays Anna Berg is at the university." in change.diff
    assert everything(vm) == before


def test_the_index_names_every_page_and_the_log_every_compile_that_changed_something(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    index = text(vm, "index")
    for path in (BERG, KESTREL, "Topics/preferences"):
        assert f"[[Wiki/{path}|" in index
    compiled(vm)
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    compiled(vm)
    log = [line for line in text(vm, "log").splitlines() if line.startswith("- ")]
    assert len(log) == 2
    assert log[1].endswith("compile · lyra · changed: Anna Berg")


def test_a_compile_is_taken_back_page_by_page(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    compiled(vm)
    first = text(vm, BERG)
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    compiled(vm)
    row = next(row for row in vm.audit.entries(BERG, limit=9) if row.target == BERG)
    vm.review.undo(row.n, by=PERSON)
    inner = [blocks.find(one)[0] for one in (first, text(vm, BERG))]
    assert inner[0] is not None
    assert inner[1] is not None
    assert inner[0].inner == inner[1].inner
    assert inner[1].inputs == "undone"  # it is not what the newest inputs give, and does not say so
    assert outcomes(compiled(vm))[BERG] == "changed"

    made = next(row for row in vm.audit.entries("Topics/preferences") if row.target == "Topics/preferences")
    vm.review.undo(made.n, by=PERSON)
    assert not page(vm, "Topics/preferences").exists()


def test_with_write_approval_all_a_page_waits_and_a_person_lets_it_in(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    strict = opened(tmp_path, **{"memory.write_approval": "all"})
    assert outcomes(compiled(strict))[BERG] == "staged"
    assert not page(vm, BERG).exists()
    waiting = next(one for one in strict.review.pending() if one.target == BERG)
    strict.review.approve(waiting.id, by=PERSON)
    assert text(vm, BERG).startswith("# Anna Berg\n")
    assert ANNA in text(vm, BERG)
    assert outcomes(compiled(strict))[BERG] == "unchanged"


def test_a_person_who_compiles_is_not_asked_again(tmp_path: Path) -> None:
    knowing(tmp_path)
    strict = opened(tmp_path, **{"memory.write_approval": "all"})
    assert set(outcomes(compiled(strict, by=PERSON)).values()) == {"made"}


def test_a_long_lived_process_compiles_after_a_change_when_it_is_told_to(tmp_path: Path) -> None:
    from vademecum.agent.wiki_tier import enqueue_compile
    from vademecum.agent.worker import handlers

    manual = knowing(tmp_path)
    assert enqueue_compile(manual) == 0
    vm = opened(tmp_path, **{"wiki.compile": "auto"})
    assert enqueue_compile(vm) == 1
    assert enqueue_compile(vm) == 0
    vm.queue.run_due(handlers(vm))
    assert ANNA in text(vm, BERG)
    assert enqueue_compile(vm) == 0
    told(vm, "On Fridays Anna Berg is at the university.", 9)
    assert enqueue_compile(vm) == 1


def test_a_wiki_that_another_home_compiles_is_left_to_it(tmp_path: Path) -> None:
    from vademecum.agent.wiki_tier import enqueue_compile

    vm = knowing(tmp_path, **{"wiki.compile": "auto"})
    compiled(vm)
    index = page(vm, "index")
    index.write_text(index.read_text().replace("by=lyra", "by=stranger"))
    assert enqueue_compile(vm) == 0
    assert not (tmp_path / "agents" / "stranger").exists()


def test_times_of_validity_stand_in_the_timeline(tmp_path: Path) -> None:
    vm = knowing(tmp_path)
    told(vm, "From May on Anna Berg leads two teams.", 9, valid_from=START + 90 * DAY)
    compiled(vm)
    assert "- 2026-05-03 since then: From May on Anna Berg leads two teams.[^f-" in text(vm, BERG)
