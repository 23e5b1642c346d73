"""Taking over memories of Mem0: what `get_all` or an export of its gives, as JSON or JSON Lines.

Idea: a memory is a statement about a user, and becomes a fact. Invariant: where memories of several users are in one
export, none becomes another's; a file of a shape that an export was given by somebody else's schema is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.clients.imports.facts import Facts, Statement, kind_of
from vademecum.clients.imports.reading import Found, Part, elements, lines, mapping, moment, nothing_in, parts, text_of
from vademecum.clients.imports.report import ImportReport, Progress, Tally

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum

SOURCE = "mem0"


def import_mem0(
    vm: Vademecum,
    path: Path,
    *,
    mine: Collection[str] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Take over the memories in the file, folder or archive at `path`.

    `mine` names user ids of Mem0 that are `vm`'s own user; when all memories are of one user id, it is that one. The
    memories of others become facts of users `mem0:<id>`, which wait for a person. Raises NotFoundError.
    """
    tally = Tally(dry_run)
    silent = Tally(dry_run=True)
    values = (found.value for part in parts(path, _is_wanted, silent) for found in _memories(part, silent))
    users = {_user(one) for one in values if _memory(one)}
    own = {*mine, ""} if mine or len(users) > 1 else {*users, ""}
    if own - {*mine, ""}:
        tally.notes.append(f"All memories are of {next(iter(users))!r}, who was taken for the user here.")
    takers, others, files = dict[str, Facts](), Counter[str](), 0
    for part in parts(path, _is_wanted, tally):
        files += 1
        for found in _memories(part, tally, progress):
            one, user = found.value, _user(found.value)
            text = _memory(one)
            if not text:
                tally.problem(part.place, found.line, "not a memory of Mem0: it has no `memory`")
                continue
            account = "" if user in own else f"{SOURCE}:{user}"
            others[account] += 1
            if account not in takers:
                takers[account] = Facts(vm.as_(user=account) if account else vm, SOURCE, tally)
            takers[account].take(_statement(one, text), part.file, part.place, found.line)
    if not files:
        nothing_in(path, "JSON file", tally)
    for account, count in others.items():
        if account:
            name = account.removeprefix(f"{SOURCE}:")
            tally.notes.append(f"{count} memories are of {name!r}; if that is you, import again with `--mine {name}`.")
    return tally.report()


def _is_wanted(name: str) -> bool:
    return name.lower().endswith((".json", ".jsonl", ".ndjson"))


def _memories(part: Part, tally: Tally, progress: Progress | None = None) -> Iterator[Found]:
    if part.base.lower().endswith((".jsonl", ".ndjson")):
        return lines(part, tally, progress)
    return elements(part, tally, "results", "memories", "data", progress=progress)


def _memory(one: dict[str, Any]) -> str:
    return text_of(one.get("memory")) or text_of(one.get("data")) or text_of(one.get("text"))


def _user(one: dict[str, Any]) -> str:
    return text_of(one.get("user_id")) or text_of(mapping(one.get("metadata")).get("user_id"))


def _statement(one: dict[str, Any], text: str) -> Statement:
    about = mapping(one.get("metadata"))
    given = one.get("categories")
    categories = [text_of(name) for name in cast("list[object]", given)] if isinstance(given, list) else []
    kind = kind_of(*categories, text_of(about.get("type")), text_of(about.get("category")))
    at = moment(one.get("updated_at")) or moment(one.get("created_at"))
    return Statement(text_of(one.get("id")) or text, text, kind, at)
