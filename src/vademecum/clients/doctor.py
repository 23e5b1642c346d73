"""What of a memory a client really loads, and which keys the servers that it starts do not have.

Idea: the catalogue says how much of a file counts, the file how much there is. Invariant: reads only; a file that is
not there loads nothing and is no trouble.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vademecum.clients.catalogue.types import Budget
from vademecum.clients.edit import block
from vademecum.clients.edit.files import read
from vademecum.clients.place import Place
from vademecum.late import dataclass, replace

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.clients.context import Context

LINE_SHOWN = 60
"""How much of the first line that is lost is shown, in characters."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much of something a client loads: `size` of it is there, `limit` counts, both in `unit`.

    `lost` says what falls off (empty: nothing); `rules_lost`: our block of rules is, or may be, in that.
    """

    what: str
    path: Path
    size: int
    limit: int
    unit: str
    lost: str = ""
    rules_lost: bool = False


def loads(place: Place) -> Iterator[Load]:
    """Every limit of the client at `place` against what is there now. Raises UnreadableError, OSError."""
    rules = place.rules("user") if place.client.rules and place.client.rules.folder else None
    moved = rules.parent if rules else None
    for budget in place.client.budgets:
        found = [path for template in budget.files for path in _files(place, template, moved)]
        if budget.total and found:
            together = _load(budget, found[-1], b"".join(read(path) or b"" for path in found))
            yield replace(together, what=f"{budget.what}, {len(found)} together, the last")
        for path in () if budget.total else found:
            yield _load(budget, path, read(path) or b"")


def given_at_start(vm: Vademecum, place: Place) -> Context | None:
    """What a hook of the client would give a new conversation now; None where none gives anything."""
    hooks = place.client.hooks
    if hooks is None or not hooks.installed:
        return None
    from vademecum.agent.session import snapshot_now
    from vademecum.clients.context import NO_LIMIT, fit, octets, units

    measure = octets if hooks.limit_in == "bytes" else units
    return fit(snapshot_now(vm), "0" * 17, cap=hooks.limit or NO_LIMIT, measure=measure)


def shell_only(vm: Vademecum, given: dict[str, str]) -> list[str]:
    """Keys that this home needs and that stand in this shell's environment only.

    `given` is what the client's entry puts into the server's environment.
    """
    from vademecum.config import env_file

    there = set(env_file(vm.home.env)) | set(given)
    return sorted(name for name in set(_needed(vm)) - there if os.environ.get(name))


def _needed(vm: Vademecum) -> Iterator[str]:
    config = vm.config
    for spec in (config.model, config.background_model):
        if spec:
            from vademecum.models.vendors import key_names

            yield from key_names(spec)
    if config.embedder.startswith("openai:"):
        yield "OPENAI_API_KEY"
    elif "://" in config.embedder:
        yield "VADEMECUM_EMBEDDER_KEY"
    if config.memory.provider not in ("", "bank"):
        from vademecum.agent.providing import listed

        yield from (one.env for one in listed(vm, config.memory.provider).schema if one.env)
    if config.library:
        for known in vm.library.sources():
            yield from (one.env for one in known.settings if known.configured and one.env)


def _files(place: Place, template: str, moved: Path | None) -> list[Path]:
    found = list[Path]()
    for path in place.machine.paths((template,), str(place.project)):
        if "*" in path:
            anchor = Path(path).anchor
            found += sorted(Path(anchor).glob(str(Path(path).relative_to(anchor))))
        else:
            found.append(moved / Path(path).name if moved is not None else Path(path))
    return [path for path in found if path.is_file()]


def _load(budget: Budget, path: Path, raw: bytes) -> Load:
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    size = {"lines": len(text.splitlines()), "bytes": len(raw)}.get(budget.unit, len(text))
    if size <= budget.limit:
        return Load(budget.what, path, size, budget.limit, budget.unit)
    kept = _kept(budget, text, raw)
    held = block.find(raw, path) if not budget.total else None
    lost = budget.cut
    if "middle" not in budget.cut:
        first = text[len(kept) :].lstrip("\r\n").split("\n", 1)[0].strip()
        line = kept.count("\n") + 1
        lost = f"{budget.cut}, from line {line:,} on: {first[:LINE_SHOWN]}"
    gone = held is not None and ("middle" in budget.cut or held not in kept.replace("\r\n", "\n"))
    return Load(budget.what, path, size, budget.limit, budget.unit, lost, gone)


def _kept(budget: Budget, text: str, raw: bytes) -> str:
    """The beginning that counts."""
    if budget.unit == "lines":
        return "".join(text.splitlines(keepends=True)[: budget.limit])
    if budget.unit == "bytes":
        return raw[: budget.limit].decode("utf-8", "ignore").removeprefix("\ufeff")
    return text[: budget.limit]
