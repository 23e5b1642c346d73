"""Processes that append to one live log, run by the tests: `append HOME AGENT COUNT`; each entry is named on standard
output once it was acknowledged. Every third has a body of many lines, every twentieth one of 6 KB."""

from __future__ import annotations

import sys

import vademecum


def append(home: str, agent: str, count: int) -> None:
    log = vademecum.open(home, agent).live
    for n in range(count):
        body = "x" * 6000 if n % 20 == 0 else "\n".join(f"line {k} of {n}" for k in range(40)) if n % 3 == 0 else ""
        done = log.append("work", f"{agent} did {n}", body=body)
        assert done.entry is not None
        sys.stdout.write(f"{done.entry.id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    append(sys.argv[2], sys.argv[3], int(sys.argv[4]))
