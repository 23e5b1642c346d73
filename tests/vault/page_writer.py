"""A process that writes pages of the vault until it is killed; each line on its output is a write that is done."""

from __future__ import annotations

import sys
from pathlib import Path

from vademecum.errors import ConflictError, NotFoundError
from vademecum.vault.checkpoints import Checkpoints
from vademecum.vault.decisions import Decisions
from vademecum.vault.page import Desk
from vademecum.vault.projects import Projects, Wanted
from vault.desks import ME, desk_of, opened

BODY = "a line of text\n" * 400


def say(line: str) -> None:
    """Tell the test that this is done."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def count_up(desk: Desk, who: str, times: int) -> None:
    """Append `who n` to the project's text, from what was read; a loser reads again."""
    projects, n = Projects(desk), 0
    while n < times:
        try:
            there = projects.show("shared")
            text, version = there.text, there.version
        except NotFoundError:
            text, version = "", None
        try:
            projects.set("shared", Wanted(text=f"{text}\n- {who} {n}"), version=version, by=ME)
        except ConflictError:
            continue
        say(f"{who} {n}")
        n += 1


def write_on(desk: Desk, who: str) -> None:
    """Decisions, a project and checkpoints, without end."""
    decisions, projects, checkpoints = Decisions(desk), Projects(desk), Checkpoints(desk)
    version, n = None, 0
    while True:
        decisions.decide(f"{who} {n}", by=ME, why=BODY)
        say(f"decision {who} {n}")
        version = projects.set(who, Wanted(status=f"s{n}", text=f"{n}\n{BODY}"), version=version, by=ME).project.version
        say(f"project {who} {n}")
        checkpoints.save(f"{who} {n}", by=ME, done=BODY)
        say(f"checkpoint {who} {n}")
        n += 1


if __name__ == "__main__":
    home, name, what = sys.argv[1:4]
    own = desk_of(opened(Path(home), name))
    if what == "count":
        count_up(own, name, int(sys.argv[4]))
    else:
        write_on(own, f"{name}{sys.argv[4]}")
