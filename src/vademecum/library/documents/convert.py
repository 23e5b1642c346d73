"""From bytes to Markdown: the right reader, here or in a process of its own.

Idea: text is read where we are; archives, PDF and large or odd HTML are handed to a child process that has a limit of
time and memory and none of our environment. Invariant: whatever a document does to its reader, the caller gets text or
an UnreadableError.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from vademecum.errors import UnreadableError
from vademecum.library.documents.kinds import kind_of
from vademecum.library.documents.types import Converted, Gathering, Limits, Part

if TYPE_CHECKING:
    from collections.abc import Callable

_APART = frozenset({"pdf", "docx", "pptx", "xlsx", "epub"})
_NEAR_HTML, _MARKS = 200_000, 1_000
_GRACE = 30.0  # seconds for a process to start on a busy machine
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "LANG", "LC_ALL", "TEMP", "TMP", "COVERAGE_PROCESS_START")


def convert(data: bytes, name: str, *, limits: Limits | None = None) -> Converted:
    """The document `data`, whose file is called `name`, as Markdown.

    Raises UnreadableError (why, and what may help): of no known kind, too large, damaged, encrypted, made to do harm,
    or a package is missing.
    """
    limits = limits or Limits()
    try:
        if len(data) > limits.size:
            raise UnreadableError(f"It has {len(data):,} bytes; {limits.size:,} are the limit.")
        kind = kind_of(name, data[:1024])
        if data.count(0) == len(data) and (data or kind in _APART):
            raise UnreadableError("It is empty." if not data else "It holds nothing but zero bytes.")
        if kind in _APART or (kind == "html" and (len(data) > _NEAR_HTML or data.count(b"<!") > _MARKS)):
            return _apart(data, name, kind, limits)
        return read_here(data, name, kind, limits)
    except UnreadableError as error:
        shown = name.rpartition("/")[2]
        if error.message.startswith(name):
            raise
        raise UnreadableError(f"{shown}: {error.message}", error.hint) from error


def read_here(data: bytes, name: str, kind: str, limits: Limits) -> Converted:
    """`convert` without a process of its own. Raises UnreadableError."""
    into = Gathering(limits)
    try:
        _reader(kind)(data, name, into)
    except (RecursionError, MemoryError) as error:
        raise UnreadableError("It is nested too deeply, or too large, to be read.") from error
    return into.converted(kind)


def _reader(kind: str) -> Callable[[bytes, str, Gathering], None]:
    from vademecum.library.documents import text

    match kind:
        case "markdown":
            return text.read_markdown
        case "text":
            return text.read_text
        case "code":
            return text.read_code
        case "csv":
            return text.read_csv
        case "html":
            from vademecum.library.documents import html

            return lambda data, _, into: html.read(text.decoded(data, declares=True), into)
        case _:
            return _office(kind)


def _office(kind: str) -> Callable[[bytes, str, Gathering], None]:
    from importlib import import_module

    read = import_module(f"vademecum.library.documents.{kind}").read
    return lambda data, _, into: read(data, into)


def _apart(data: bytes, name: str, kind: str, limits: Limits) -> Converted:
    import msgspec

    order = msgspec.json.encode({"name": name, "kind": kind, "limits": asdict(limits)})
    command = [sys.executable, "-P", "-m", "vademecum.library.documents.child"]
    environment = {key: os.environ[key] for key in _KEPT if key in os.environ} | {"PYTHONUTF8": "1"}
    try:
        ended = subprocess.run(
            command,
            check=False,
            input=order + b"\n" + data,
            capture_output=True,
            timeout=limits.seconds + _GRACE,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise UnreadableError(
            f"It could not be read within {limits.seconds:g} s.", "Split it, or save it in another format."
        ) from error
    except OSError as error:
        raise UnreadableError(f"The process that reads it could not be started: {error}.") from error
    if ended.returncode or not ended.stdout:
        raise UnreadableError(_why(ended), "It may be damaged, or made to do harm.")
    answer = msgspec.json.decode(ended.stdout)
    if "error" in answer:
        raise UnreadableError(answer["error"]["message"], answer["error"]["hint"])
    parts = tuple(Part(**one) for one in answer["parts"])
    return Converted(kind, answer["title"], parts, tuple(answer["problems"]), tuple(answer["authors"]))


def _why(ended: subprocess.CompletedProcess[bytes]) -> str:
    if b"MemoryError" in ended.stderr:
        return "It needs more memory than a document may."
    last = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    return f"Its reader gave up ({last or f'exit code {ended.returncode}'})."
