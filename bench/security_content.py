"""What the gate's content rules find, let pass and cost: `python bench/security_content.py FOLDER [--history MB]`.

FOLDER holds benign.jsonl, attacks.jsonl, memory_twins.jsonl, unicode_attacks.jsonl and unicode_benign.jsonl, each row
with `text` and `source` or `family`; what is missing is left out. Made-up secrets come from tests/gate/secret_rows.py.
Shares of attacks are told as they are: there is no target for them, content rules are not the defence.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "gate"))

from secret_rows import rows as secret_rows  # noqa: E402

import vademecum  # noqa: E402
from vademecum.gate.candidate import Candidate  # noqa: E402
from vademecum.gate.canonical import canonical  # noqa: E402
from vademecum.gate.scanners import refuses, scan  # noqa: E402
from vademecum.gate.secrets import redact  # noqa: E402
from vademecum.model import Actor, Origin  # noqa: E402

KEY = b"a key for measuring"
HOSTILE = {
    "one password after another": "password=a1b2c3d4 ",
    "`password is` without end": "password is ",
    "secrets within secrets": "password is password is x1y2z3 ",
    "IBANs": "DE89 3704 0044 0532 0130 00 ",
    "keys that never end": "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
    "one long word": "a",
    "one long number": "1",
    "Cyrillic": "пароль — пароль ",
    "instructions": "ignore all of the previous ",
    "spaced letters": "i g n o r e ",
    "percent escapes": "%69",
    "base64": "aWdub3Jl",
}


def read(folder: Path, name: str) -> list[dict[str, str]]:
    file = folder / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def of_secrets(folder: Path) -> None:
    made, missed = Counter[str](), Counter[str]()
    for kind, text, value in secret_rows():
        made[kind] += 1
        missed[kind] += value in redact(text, KEY)[0]
    print(f"secrets: {len(made)} kinds, {made.total()} rows, {1 - missed.total() / made.total():.1%} found; missed:",
          {kind: count for kind, count in missed.items() if count} or "none")  # fmt: skip
    for name in ("benign", "memory_twins", "unicode_benign", "attacks"):
        alarms = [redact(row["text"], KEY)[1] for row in read(folder, name)]
        if alarms:
            print(f"  {name}: {sum(map(bool, alarms))} of {len(alarms)} texts changed",
                  dict(Counter(secret.rule for found in alarms for secret in found)))  # fmt: skip


def of_scanners(folder: Path) -> None:
    for name in ("benign", "unicode_benign", "memory_twins", "unicode_attacks", "attacks"):
        table: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for row in read(folder, name):
            found = scan(row["text"])
            for group in ("all", row.get("label") or row.get("source") or row["family"]):
                counts = (1, bool(found), any(map(refuses, found)))
                table[group] = [old + new for old, new in zip(table[group], counts, strict=True)]
        print(f"scanners, {name}: rows, flagged, of these refused")
        for group, (count, flagged, refused) in table.items():
            print(f"  {group:<58} {count:>5} {flagged / count:>7.1%} {refused / count:>7.1%}")


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def of_cost(folder: Path, megabytes: int) -> None:
    texts = [row["text"] for row in read(folder, "benign")] or ["An ordinary note about the build and the team. "]
    joined = " ".join(texts)
    notes = [joined[at : at + 300] for at in range(0, min(len(joined), 150_000), 300)]
    for name, call in (("redact", lambda text: redact(text, KEY)), ("scan", scan), ("canonical", canonical)):
        for text in notes:
            call(text)
        times = sorted(seconds(lambda call=call, text=text: call(text)) for text in notes)
        print(f"{name}: {median(times) * 1e6:.0f} us at the median of {len(notes)} notes of 300 characters, "
              f"{times[int(len(times) * 0.95)] * 1e6:.0f} us at 95 %")  # fmt: skip
    of_admit(notes)
    share = max(1, megabytes * 1_000_000 // len(joined))
    took = seconds(lambda: [redact(text, KEY) for _ in range(share) for text in texts])
    print(f"history: {share * len(joined) / 1e6:.0f} MB redacted in {took:.1f} s of CPU, "
          f"100 MB in {took * 1e8 / (share * len(joined)):.0f} s")  # fmt: skip
    for name, unit in HOSTILE.items():
        text = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
        print(f"1 MB of {name}: redact {seconds(lambda: redact(text, KEY)):.2f} s, "  # noqa: B023
              f"scan {seconds(lambda: scan(text)):.2f} s")  # noqa: B023  # fmt: skip


def of_admit(notes: list[str]) -> None:
    """A whole decision of the gate, the record of it in the history included."""
    with tempfile.TemporaryDirectory() as folder, vademecum.open(folder) as vm:
        wanted = [Candidate("core", "add", "memory", note, Origin.person(), Actor()) for note in notes]
        vm.gate.admit(wanted[0])
        times = sorted(seconds(lambda one=one: vm.gate.admit(one)) for one in wanted)
    print(f"admit: {median(times) * 1e6:.0f} us at the median, {times[int(len(times) * 0.95)] * 1e6:.0f} us at 95 %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--history", type=int, default=10, metavar="MB", help="how much history to redact")
    options = parser.parse_args()
    of_secrets(options.folder)
    of_scanners(options.folder)
    of_cost(options.folder, options.history)


if __name__ == "__main__":
    main()
