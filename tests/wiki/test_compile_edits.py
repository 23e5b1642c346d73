"""A hundred edits by a person between compiles: every line of theirs is still there, and where it was outside of it."""

from __future__ import annotations

import random
from pathlib import Path

from vademecum.disk import to_bytes, to_text
from vademecum.wiki import blocks
from wiki.knowing import PERSON, compiled, knowing, page, told

BERG = "Entities/anna-berg"


def _edited(text: str, rng: random.Random, n: int) -> tuple[str, str]:
    """The page after an edit, and a line that a person has written with it (empty: none)."""
    end = "\r\n" if "\r\n" in text else "\n"
    block, problem = blocks.find(text)
    assert block is not None, problem
    mine = f"Line {n} of mine, {rng.choice(['plain', '* list', '> quote', '`code`', 'ümläut 日本', '[[Link]]'])}."
    match rng.randrange(7):
        case 0:
            return f"{mine}{end}{text}" if not text.startswith("\ufeff") else f"\ufeff{mine}{end}{text[1:]}", mine
        case 1:
            return f"{text.rstrip()}{end}{mine}", mine  # no newline at the end
        case 2:
            return f"{text}{end}\t{mine}  {end}{end}", mine
        case 3:  # inside
            at = text.index(end, rng.randrange(block.start + 400, block.end - 60))
            at = at if at < block.end - 40 else text.index(end, block.start) + len(end)
            return f"{text[:at]}{end}{mine}{text[at:]}", mine
        case 4:
            return text.replace("\r\n", "\n") if end == "\r\n" else text.replace("\n", "\r\n"), ""
        case 5:
            return text if text.startswith("\ufeff") else f"\ufeff{text}", ""
        case _:
            return to_text(to_bytes(text) + b"\xff\xfe not UTF-8"), "not UTF-8"


def test_a_persons_text_survives_a_hundred_edits_between_compiles(tmp_path: Path) -> None:
    rng = random.Random(7)
    vm = knowing(tmp_path)
    compiled(vm)
    place = page(vm, BERG)
    written: list[str] = []
    facts: list[str] = []
    for n in range(100):
        text, mine = _edited(to_text(place.read_bytes()), rng, n)
        written += [mine] if mine else []
        place.write_bytes(to_bytes(text))
        before, _ = blocks.find(text)
        if rng.random() < 0.4:
            if facts and rng.random() < 0.3:
                vm.bank.close(facts.pop(0), by=PERSON)
            facts.append(told(vm, f"Item {n} of the list is Anna Berg's, number {n * 7}.", 20 + n).id)
        compiled(vm)
        now = to_text(place.read_bytes())
        after, problem = blocks.find(now)
        assert before is not None
        assert after is not None, problem
        assert now.startswith(text[: before.start])
        assert now.endswith(text[before.end :])
        missing = [line for line in written if line not in now]
        assert missing == []
