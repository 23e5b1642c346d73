"""The size budget: what keeps every module readable in one sitting.

Idea: count what makes a room hard to live in, and fail when it grows. Invariant: `scripts/budget-exceptions.txt` may
only shrink; an exception that is no longer needed is itself an error, so that the list cannot go stale.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE_LINES, FUNCTION_LINES, POSITIONAL, ROOT_ENTRIES = 500, 50, 6, 15
EXCEPTIONS = ROOT / "scripts" / "budget-exceptions.txt"


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_broad(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"}) for name in names
    )


def is_silent(handler: ast.ExceptHandler) -> bool:
    return all(
        isinstance(node, ast.Pass | ast.Continue)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in handler.body
    )


def faults(path: Path) -> Iterator[str]:
    """Each fault as `kind path[:name]`, stable under edits elsewhere in the file."""
    where = path.relative_to(ROOT).as_posix()
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    if source.count("\n") > MODULE_LINES:
        yield f"module-lines {where}"
    for node in functions(tree):
        if (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES:
            yield f"function-lines {where}:{node.name}"
        if len(node.args.posonlyargs) + len(node.args.args) > POSITIONAL:
            yield f"positional {where}:{node.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and is_broad(node):
            yield f"{'silent' if is_silent(node) else 'broad'}-except {where}"
    if where.startswith("src/") and where.endswith(".py") and not ast.get_docstring(tree):
        yield f"no-docstring {where}"


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tracked = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    found = {fault for name in tracked if name.endswith(".py") for fault in faults(ROOT / name)}
    entries = {name.split("/", 1)[0] for name in tracked}
    if len(entries) > ROOT_ENTRIES:
        found.add("root-entries .")
    allowed = {
        line.split("  #")[0].strip()
        for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    }
    for fault in sorted(found - allowed):
        sys.stderr.write(f"over the size budget: {fault}\n")
    for fault in sorted(allowed - found):
        sys.stderr.write(f"exception no longer needed, remove it: {fault}\n")
    sys.stdout.write(f"{len(tracked)} files, {len(entries)} entries in the root, {len(allowed)} exceptions\n")
    return 1 if found ^ allowed else 0


if __name__ == "__main__":
    raise SystemExit(main())
