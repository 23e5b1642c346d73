"""What of decisions, projects and checkpoints came from somewhere, and its erasure.

Idea: a decision and a checkpoint say in the file what they were made of; of a project's page the history knows which
write brought which lines. Invariant: an erased decision leaves a marked tombstone with its id, so that what it
superseded stays superseded and links to it resolve; an erasure is recorded by hashes alone, before the page changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from vademecum.disk import visible
from vademecum.errors import StorageError
from vademecum.gate.candidate import Act, Effect
from vademecum.gate.selector import Copy, Selector
from vademecum.model import Origin
from vademecum.obsidian import in_one_line, link_prefix, own_slug, quiet
from vademecum.page import Page, eol_of, state_of
from vademecum.store.audit import AuditRow
from vademecum.store.erasure import MARK
from vademecum.vault import checkpoints, projects
from vademecum.vault.decision_text import FILE, Decision, parse, render
from vademecum.vault.decisions import TARGET, seen_from
from vademecum.vault.page import TIER, By, Desk
from vademecum.vault.paths import VaultPaths

_WRITES = "('accepted', 'approved', 'undone')"


def copies(desk: Desk, selector: Selector) -> list[Copy]:
    """What is meant, of all agents: `place` is `Decisions.md#ID`, `Agents/SLUG#ID` or `Projects/SLUG`."""
    heard = desk.gate.quarantine.heard(desk.actor.agent, selector)
    found: list[Copy] = []
    for decision in parse(desk.page(FILE).text())[0]:
        origin = seen_from(desk.actor.agent, decision)
        place = f"{FILE}#{decision.id.removeprefix('#')}"
        if selector.kind == "entry":
            if selector.value in decision.text:
                whole = not decision.what.replace(selector.value, "").strip(" .!")
                found.append(Copy(TIER, place, decision.text, str(origin), whole=whole))
        elif not decision.is_forgotten and selector.matches(origin, session=decision.session, heard=heard):
            found.append(Copy(TIER, place, decision.text, str(origin), session=decision.session))
    found += _checkpoints(desk, selector, heard)
    return found + [copy for slug in _slugs(desk, projects.FOLDER) for copy in _project(desk, slug, selector, heard)]


def erase(desk: Desk, meant: Sequence[Copy], texts: Sequence[str], by: Origin) -> None:
    """Erase these copies; `texts` are cut out of those that are not whole. What is gone already is passed over."""
    for copy in meant:
        folder, _, rest = copy.place.partition("/")
        if copy.place.startswith(f"{FILE}#"):
            page, change = desk.page(FILE), _in_decisions(desk, copy, texts)
            target = TARGET
        elif folder == checkpoints.FOLDER:
            slug = rest.partition("#")[0]
            page, change = desk.page(folder, f"{slug}.md"), _in_checkpoints(copy, texts)
            target = f"agents/{slug}"
        elif folder == projects.FOLDER:
            page, change = desk.page(folder, f"{rest}.md", lock=folder), _in_project(copy, texts)
            target = f"projects/{rest}"
        else:
            continue
        _erase(desk, page, target, change, replace(copy, text=visible(copy.text)), by)


def _erase(desk: Desk, page: Page, target: str, change: Callable[[str], str | None], copy: Copy, by: Origin) -> None:
    with page.held():
        raw = page.raw()
        after = None if raw is None else change(raw)
        if raw is None or after == raw:
            return
        effect = Effect(copy.text, "" if after is None else MARK, "", state_of(raw), state_of(after))
        done = By(Origin.parse(copy.origin), session=copy.session, act=Act("forgotten", str(by)))
        desk.admit(target, "replace" if after else "remove", "", done, before=copy.text, effect=lambda _: effect)
        if after is not None:
            page.put(raw, after)
            return
        try:
            page.path.unlink()
        except OSError as error:
            raise StorageError(
                f"Could not remove {page.path}: {error.strerror or error}. It is kept.", "Check its permissions."
            ) from error


# --- decisions


def _in_decisions(desk: Desk, copy: Copy, texts: Sequence[str]) -> Callable[[str], str | None]:
    wanted = copy.place.partition("#")[2]

    def change(raw: str) -> str:
        found = next((one for one in parse(raw)[0] if one.id.removeprefix("#") == wanted), None)
        if found is None:
            return raw
        block = raw[found.start : found.end]
        block = _tombstone(found, block, link_prefix(desk.root)) if copy.whole else _cut(block, texts)
        raw = raw[: found.start] + block + raw[found.end :]
        if copy.whole:  # links to it repeat what it said
            raw = re.sub(rf"\[\[([^\[\]|\n]*#\^?{re.escape(wanted)})\|[^\[\]\n]*\]\]", r"[[\1]]", raw)
        return raw

    return change


def _tombstone(one: Decision, block: str, prefix: str) -> str:
    end = eol_of(block)
    if one.id.startswith("#"):
        return f"## {MARK}{end}{end}"
    left = Decision(one.id, MARK, one.time, one.by, supersedes=one.supersedes, origin=Origin.assistant())
    return render(left, prefix, {}).removesuffix("\n").replace("\n", end)


# --- checkpoints


def _checkpoints(desk: Desk, selector: Selector, heard: frozenset[str]) -> Iterator[Copy]:
    for slug in _slugs(desk, checkpoints.FOLDER):
        page = desk.page(checkpoints.FOLDER, f"{slug}.md")
        other = selector.kind == "agent" and selector.value != desk.actor.agent
        theirs = other and own_slug(selector.value, "agent") == slug
        for one in checkpoints.read(page.text()):
            meant = selector.value in one.said if selector.kind == "entry" else theirs
            if meant or selector.matches(one.origin, session=one.session, heard=heard):
                whole = selector.kind != "entry"
                place = f"{checkpoints.FOLDER}/{slug}#{one.id}"
                yield Copy(TIER, place, one.said, str(one.origin), session=one.session, whole=whole)


def _in_checkpoints(copy: Copy, texts: Sequence[str]) -> Callable[[str], str | None]:
    id_ = copy.place.partition("#")[2]

    def change(raw: str) -> str:
        one = next((one for one in checkpoints.read(raw) if one.id == id_), None)
        if one is None:
            return raw
        return raw.replace(one.text, "" if copy.whole else _cut(one.text, texts), 1)

    return change


# --- projects


def _project(desk: Desk, slug: str, selector: Selector, heard: frozenset[str]) -> list[Copy]:
    page = desk.page(projects.FOLDER, f"{slug}.md")
    text, place = page.text(), f"{projects.FOLDER}/{slug}"
    if selector.kind == "entry":
        return [Copy(TIER, place, text, str(Origin.file()), whole=False)] if selector.value in text else []
    where = f"tier = 'vault' AND target = :target AND decision IN {_WRITES} AND state <> ''"
    rows = desk.gate.audit.store.rows(where, {"target": f"projects/{slug}"})
    origins = [Origin.parse(row.origin) for row in rows]
    meant = [
        row
        for row, origin in zip(rows, origins, strict=True)
        if selector.matches(origin, session=row.session, user=row.user, heard=heard)
    ]
    if not meant:
        return []
    row = meant[0]
    if len(meant) == len(rows) and rows[0].state == state_of(page.raw()):
        return [Copy(TIER, place, text, row.origin, row.user, row.session)]
    brought = "\n".join(line for line in dict.fromkeys(_brought(desk, meant)) if line in text)
    return [Copy(TIER, place, brought, row.origin, row.user, row.session, whole=False)] if brought else []


def _brought(desk: Desk, rows: Iterable[AuditRow]) -> Iterator[str]:
    """The lines that these writes brought into a page."""
    for row in rows:
        texts = desk.gate.audit.store.texts([row.before_sha256, row.after_sha256])
        before = {line.strip() for line in texts.get(row.before_sha256, "").splitlines()}
        for line in texts.get(row.after_sha256, "").splitlines():
            bare = line.strip()
            if len(bare) > 3 and bare not in before and not bare.startswith(("updated:", "updated_by:", "project:")):
                yield bare


def _in_project(copy: Copy, texts: Sequence[str]) -> Callable[[str], str | None]:
    def change(raw: str) -> str | None:
        if copy.whole:
            return None
        lines = set(copy.text.splitlines()) if len(copy.text) < len(visible(raw)) else set[str]()
        kept = [_line_without(line, lines) for line in re.findall(r"[^\n]*\n|[^\n]+", raw)]
        return _cut("".join(kept), texts)

    return change


def _line_without(line: str, lines: set[str]) -> str:
    bare = visible(line).strip()
    if bare not in lines:
        return line
    key = re.match(r"[A-Za-z_][\w-]*:(?= )", bare)
    return line.replace(line.strip(), f'{key[0]} "{MARK}"' if key else MARK)


# --- both


def _cut(block: str, texts: Sequence[str]) -> str:
    for text in texts:
        for form in (text, quiet(text), in_one_line(text)):
            for indented in (form, form.replace("\n", "\n  ")):
                block = block.replace(indented, MARK).replace(indented.replace("\n", "\r\n"), MARK)
    return block


def _slugs(desk: Desk, folder: str) -> list[str]:
    return [path.stem for path in VaultPaths(desk.root).files(desk.root / folder, ".md")]
