"""Mutation testing of the gate: which small faults in its code would no test notice?

    python bench/mutation.py                      # 60 mutants of all modules of gate/
    python bench/mutation.py --sample 20 --only structure,keys --seed 7

Idea: a mutant is one comparison, boolean, number or return changed in a temporary copy of the tree; tests/gate runs on
it, the module's own file of tests first, until one fails. Invariant: the working tree is never written to. A survivor
is a missing test, or a change that means nothing: only reading it can tell. One that runs out of time is listed apart,
for a busy machine does that too.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GATE = Path("src/vademecum/gate")
SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}


@dataclass(frozen=True)
class Mutant:
    """One change: `after` in the place of the text between two offsets (in bytes) of a file."""

    path: Path
    line: int
    kind: str
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}  {self.kind:<10}  {self.before}  ->  {self.after}"


class Finder(ast.NodeVisitor):
    """All mutants of one file."""

    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.data = source.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []
        self.visit(ast.parse(source))

    def add(self, node: ast.expr | ast.stmt, kind: str, after: str) -> None:
        """Note a mutant that puts `after` in the place of `node`."""
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = self.data[start:end].decode()
        self.found.append(Mutant(self.path, node.lineno, kind, start, end, before, after))

    def visit_Compare(self, node: ast.Compare) -> None:
        """Turn each comparison round, or move its edge."""
        for at, operator in enumerate(node.ops):
            sides = [f"({ast.unparse(side)})" for side in (node.left, *node.comparators)]
            signs = [SIGNS[type(other)] for other in node.ops]
            signs[at] = COMPARISONS[type(operator)]
            text = sides[0] + "".join(f" {sign} {side}" for sign, side in zip(signs, sides[1:], strict=True))
            self.add(node, "comparison", f"({text})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """`and` for `or`, and the other way round."""
        word = " or " if isinstance(node.op, ast.And) else " and "
        self.add(node, "boolean", "(" + word.join(f"({ast.unparse(value)})" for value in node.values) + ")")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Leave a `not` out."""
        if isinstance(node.op, ast.Not):
            self.add(node, "boolean", f"bool({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Another truth, another number."""
        if isinstance(node.value, bool):
            self.add(node, "constant", str(not node.value))
        elif isinstance(node.value, int):
            self.add(node, "constant", str(node.value + 1))

    def visit_Return(self, node: ast.Return) -> None:
        """Nothing for something."""
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.add(node.value, "return", "None")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Only the value: an annotation is not run."""
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Only the body and the defaults."""
        for default in (*node.args.defaults, *(value for value in node.args.kw_defaults if value is not None)):
            self.visit(default)
        for statement in node.body:
            self.visit(statement)


def mutants(only: set[str]) -> list[Mutant]:
    """All mutants of the modules named in `only`, or of all."""
    found: list[Mutant] = []
    for path in sorted((ROOT / GATE).glob("*.py")):
        if not only or path.stem in only:
            found += Finder(path.relative_to(ROOT), path.read_text(encoding="utf-8")).found
    return found


def run(tree: Path, first: str, seconds: float, without: list[str]) -> str:
    """`failed`, `passed` or `timeout`: tests/gate on the copy, `first` before the others, some left out."""
    own = Path("tests/gate") / f"test_{first}.py"
    files = [str(own)] if (tree / own).exists() else []
    command = [sys.executable, "-m", "pytest", *files, "tests/gate", "-xq"]
    command += [f"--deselect={name}" for name in without]
    env = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode and not first:
        print(done.stdout.decode(errors="replace")[-2_000:])
    return "passed" if done.returncode == 0 else "failed"


def judged(tree: Path, chosen: list[Mutant], seconds: float, without: list[str]) -> Iterator[tuple[Mutant, str]]:
    """Each mutant with what the tests made of it."""
    for mutant in chosen:
        path = tree / mutant.path
        data = path.read_bytes()
        path.write_bytes(data[: mutant.start] + mutant.after.encode() + data[mutant.end :])
        try:
            yield mutant, run(tree, mutant.path.stem, seconds, without)
        finally:
            path.write_bytes(data)


def main() -> int:
    """Print each mutant as it is judged, then the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sample", type=int, default=60, help="how many mutants; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="modules of gate/, with commas")
    parser.add_argument("--seconds", type=float, default=300, help="most that one run may take")
    parser.add_argument("--deselect", action="append", default=[], help="a test to leave out, as pytest names it")
    given = parser.parse_args()
    everything = mutants({name for name in given.only.split(",") if name})
    chosen = everything
    if given.sample and given.sample < len(everything):
        chosen = random.Random(given.seed).sample(everything, given.sample)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        start = time.perf_counter()
        if run(tree, "", given.seconds, given.deselect) != "passed":
            print("tests/gate does not pass as it is: nothing was judged.")
            return 1
        print(f"{len(chosen)} of {len(everything)} mutants; tests/gate takes {time.perf_counter() - start:.0f} s")
        results: list[tuple[Mutant, str]] = []
        for mutant, outcome in judged(tree, chosen, given.seconds, given.deselect):
            results.append((mutant, outcome))
            print(f"{'SURVIVED' if outcome == 'passed' else outcome:<9} {mutant}", flush=True)
    counts = Counter(outcome for _, outcome in results)
    print(f"\n{counts['failed']} of {len(results)} noticed, {counts['timeout']} ran out of time. Survivors:")
    for mutant, outcome in results:
        if outcome != "failed":
            print(f"  {'' if outcome == 'passed' else '(out of time) '}{mutant}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
