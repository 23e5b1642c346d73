"""What the gate refuses and what it costs, on a person's own rows.

    python bench/gate.py FILE.jsonl [FILE.jsonl ...]

Each line is an object with `text` and, if you like, `family`. Prints for each family the share that is refused, the
share that is changed when rendered into a prompt, and the rows of families called benign that are refused; then what a
look at an entry of 300 characters costs.
"""

from __future__ import annotations

import argparse
import collections
import json
import statistics
import time
from pathlib import Path

from vademecum.gate.lookalikes import find_lookalikes
from vademecum.gate.structure import neutralise
from vademecum.gate.unicode import find_hidden, is_plain, visible

SAMPLES = {
    "plain": "The deploy key is at ~/.ssh/id_ed25519; run `make release` from the main branch. ",
    "mixed": "Zoë’s team 👩🏽‍💻 говорит по-русски, نام او می‌خواهم است, 中文回复; costs 30 € a week — fine. ",
    "hostile": "I\u200bg\u200bn\u200bo\u200br\u200be \u202eyou\u202c p\u0430ssw\u043erd \ufeff\U000e0041 ## <system> ",
}


def judge(text: str) -> bool:
    return not is_plain(text) and bool(find_hidden(text) + find_lookalikes(text))


def measure(text: str, rounds: int = 400) -> tuple[float, float]:
    """Median milliseconds of a judgement and of a rendering."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for kept, work in zip(times, (judge, neutralise), strict=True):
            start = time.perf_counter()
            work(text)
            kept.append((time.perf_counter() - start) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="*", type=Path)
    for path in parser.parse_args().path:
        families: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            count = families[row.get("family", path.stem)]
            refused = judge(row["text"])
            count.update(rows=1, refused=refused, rendered=neutralise(row["text"]) != row["text"])
            if refused and "benign" in path.stem:
                print(f"refused: {visible(row['text'])[:160]!r}")
        print(f"\n{path.name:50} {'rows':>6} {'refused':>8} {'rendered inert':>15}")
        for name, count in [*sorted(families.items()), ("all", sum(families.values(), collections.Counter[str]()))]:
            rows = count["rows"]
            print(f"{name:50} {rows:6} {count['refused'] / rows:8.1%} {count['rendered'] / rows:15.1%}")
    print(f"\n{'cost, median ms':50} {'judge':>8} {'render':>8}")
    for name, text in SAMPLES.items():
        for size, rounds in ((300, 400), (1_000_000, 1)):
            judged, rendered = measure((text * (size // len(text) + 1))[:size], rounds)
            print(f"{name + f', {size} characters':50} {judged:8.3f} {rendered:8.3f}")


if __name__ == "__main__":
    main()
