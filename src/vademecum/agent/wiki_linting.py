"""Linting the pages of a home: what the decisions, the compile and the gate know is brought to `wiki.lint`.

Idea: the same comparison as for a new decision, the same rules for secrets as for every write. Invariant: nothing is
written; what a compile would do is found by its dry run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.wiki.lint import Check, Known, Report, Standing


def lint(
    vm: Vademecum, checks: Sequence[Check] | None = None, *, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Look at every page of every source. Raises LockedError, StorageError."""
    from vademecum.wiki.lint import CHECKS
    from vademecum.wiki.lint import lint as run

    wanted = CHECKS if checks is None else tuple(checks)
    return run(vm.wiki.index, _known(vm, wanted), checks=wanted, progress=progress)


def _known(vm: Vademecum, checks: Sequence[Check]) -> Known:
    from vademecum.wiki.lint import Known

    standing: list[Standing] = []
    superseded: dict[str, str] = {}
    if "stale" in checks or "contradiction" in checks:
        standing, superseded = _decisions(vm)

    def contradicts(one: str, other: str) -> bool:
        from vademecum.bank.compare.relation import may_contradict

        return may_contradict(one, other)

    def secrets(text: str) -> Iterable[tuple[str, int]]:
        return ((one.rule, one.start) for one in vm.redactor.find(text))

    outdated = _outdated(vm) if "stale" in checks else []
    return Known(standing, superseded, outdated, contradicts, secrets, vm.wiki.inert)


def _decisions(vm: Vademecum) -> tuple[list[Standing], dict[str, str]]:
    """The decisions that stand, and what took the place of those that do not."""
    from vademecum.agent.vaulting import decisions
    from vademecum.wiki.lint import Standing

    book = decisions(vm).book()
    superseded = {one.id.lower(): one.superseded_by[-1] for one in book.decisions if one.superseded_by}
    return [Standing(one.target, one.what) for one in book.standing()], superseded


def _outdated(vm: Vademecum) -> list[tuple[str, str]]:
    """Compiled pages whose inputs changed since."""
    from vademecum.agent.compiling import compile_wiki
    from vademecum.errors import RefusedError

    try:
        done = compile_wiki(vm, dry_run=True, prose=False)
    except RefusedError:  # another agent compiles this wiki, and knows what has changed
        return []
    told = {
        "changed": "what it was compiled from has changed",
        "removed": "nothing says any more what it was made from",
    }
    return [(one.path, told[one.outcome]) for one in done.pages if one.outcome in told]
