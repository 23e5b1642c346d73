"""The process in which a document of a risky kind is read: `python -m vademecum.library.documents.child`.

Idea: the order and the bytes come on standard input, the Markdown goes out as JSON. Invariant: limits of memory and
CPU time are set before the first byte of the document is looked at; it opens no file and no connection.
"""

from __future__ import annotations

import contextlib
import sys

import msgspec

from vademecum.errors import UnreadableError
from vademecum.library.documents.convert import read_here
from vademecum.library.documents.types import Limits


class _Order(msgspec.Struct):
    name: str
    kind: str
    limits: Limits


def main() -> None:
    """Read one document."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Order)
    _confine(order.limits)
    data = sys.stdin.buffer.read()
    try:
        found = read_here(data, order.name, order.kind, order.limits)
        answer = msgspec.json.encode(
            {
                "title": _sound(found.title),
                "parts": [{"name": _sound(part.name), "text": _sound(part.text)} for part in found.parts],
                "problems": [_sound(one) for one in found.problems],
                "authors": [_sound(one) for one in found.authors],
            }
        )
    except UnreadableError as error:
        answer = msgspec.json.encode(error.as_dict())
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


def _sound(text: str) -> str:
    """Text that can be encoded: half a pair of UTF-16 is none."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _confine(limits: Limits) -> None:
    try:
        import resource  # there is none on Windows, where the caller's time-out is all
    except ImportError:
        return
    seconds = int(limits.seconds) + 5
    for kind, value in ((resource.RLIMIT_AS, limits.memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):  # a lower limit of the system's stands
            resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    main()
