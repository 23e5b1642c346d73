"""What chat needs of a terminal: a line from the person, and a model's words as they arrive.

Idea: words are held back only until their end is known, so that lines break between words while text streams.
Invariant: nothing that a model says can drive the terminal, and code between fences keeps its lines.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TextIO

import click

from vademecum.errors import UsageError
from vademecum.late import pattern
from vademecum.surfaces.cli.origin import on_terminal
from vademecum.surfaces.cli.output import PIECES, WIDE, Style, cells, clip, printable

_LAST_WORD = pattern(rf"[^\s{WIDE}]{{0,200}}\Z")


class Flow:
    """Writes streamed text, broken between words at the style's width (0: as it comes)."""

    def __init__(self, style: Style, stream: TextIO | None = None) -> None:
        self._width = style.width
        self._stream = stream or sys.stdout
        self._held = ""
        self._line = ""  # what the model's line holds so far
        self._space = ""  # white space that is written only when a word follows on the same line
        self._column = 0
        self._fenced = False

    def feed(self, piece: str) -> None:
        """Write `piece`, but for a last word that may go on."""
        text = self._held + printable(piece.replace("\r", ""))
        last = _LAST_WORD.search(text)
        cut = last.start() if last else len(text)
        self._held = text[cut:]
        self._write(text[:cut])

    def close(self) -> None:
        """Write what was held back, and end the line if there is one."""
        self._write(self._held)
        self._held = ""
        if self._column:
            self._write("\n")

    def _write(self, text: str) -> None:
        for piece in PIECES.findall(text):
            if piece == "\n":
                self._fenced ^= self._line.lstrip().startswith("```")
                self._stream.write("\n")
                self._line, self._space, self._column = "", "", 0
            elif piece.isspace():
                self._line += piece
                self._space += piece
            else:
                self._line += piece
                self._word(piece)
        self._stream.flush()

    def _word(self, word: str) -> None:
        needed = cells(self._space) + cells(word)
        if self._width and not self._fenced and self._column and self._column + needed > self._width:
            self._stream.write("\n")
            self._column, needed = 0, cells(word)
        else:
            self._stream.write(self._space)
        self._space = ""
        self._stream.write(word)
        self._column += needed


def prompt(style: Style, mark: str = "›") -> str:
    """One line from the person. Raises EOFError at the end of input, KeyboardInterrupt for Ctrl-C."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")
    if style.colour and _readline():  # zero-width marks, so that line editing counts columns right
        return input(f"\001\x1b[36m\002{mark}\001\x1b[0m\002 ")
    return input(f"{mark} ")


def _readline() -> bool:
    with contextlib.suppress(ImportError):
        import readline

        return bool(readline.__doc__)
    return False


def remember(lines: list[str]) -> None:
    """Put earlier lines of the person where the arrow keys find them; in memory only, never in a file."""
    with contextlib.suppress(ImportError):
        import readline

        readline.clear_history()
        for line in lines:
            readline.add_history(line.replace("\n", " "))


def forget_typed() -> None:
    """Drop what was typed before a question that it cannot have been an answer to."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
        return
    import termios

    with contextlib.suppress(termios.error, OSError, ValueError):  # no terminal: there is nobody who types
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def ask(question: str) -> bool | None:
    """Yes, no, or None for later (an empty answer, Ctrl-C, the end of input). What was typed before is dropped."""
    forget_typed()
    while True:
        try:
            answer = input(f"{question} [y/n, Enter: later] ").strip().lower()
        except (EOFError, KeyboardInterrupt):
            print()
            return None
        if not answer:
            return None
        if answer in ("y", "yes", "n", "no"):
            return answer.startswith("y")


def confirmed(question: str, *, yes: bool, json: bool) -> bool:
    """Whether to go on with what cannot be taken back: `yes`, or else what a person at the terminal answers.

    Raises UsageError where nobody can be asked: without a terminal, or when the output is JSON.
    """
    if yes:
        return True
    if json or not on_terminal():
        raise UsageError("This asks before it goes on, and nobody can be asked. Nothing was changed.", "Give --yes.")
    forget_typed()
    return click.confirm(question)


@contextlib.contextmanager
def counting(*, json: bool) -> Generator[Callable[[int, int, str], None] | None]:
    """A line on standard error that counts up while a person waits: done, of how many, and what; None without one."""
    if json or not sys.stderr.isatty():
        yield None
        return

    def show(done: int, total: int, what: str) -> None:
        name = clip(Path(what).name, 40)
        sys.stderr.write(f"\r\x1b[K{Style.for_stream(sys.stderr).dim(f'{done:,} of {total:,}  {name}')}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")


@contextlib.contextmanager
def watching(what: str, *, json: bool) -> Generator[Callable[[str], None]]:
    """A line on standard error that says which step is under way and for how long; each step once without a terminal.

    Yields what is told of the next step.
    """
    if json:
        yield lambda _step: None
        return
    style = Style.for_stream(sys.stderr)
    if not sys.stderr.isatty():
        yield lambda step: print(f"{what}: {step}", file=sys.stderr, flush=True)
        return
    step, began, ended = "", time.monotonic(), threading.Event()

    def show() -> None:
        while not ended.wait(0.2):
            line = clip(f"{what}: {step} … {time.monotonic() - began:.0f} s", max(20, style.width - 1))
            sys.stderr.write(f"\r\x1b[K{style.dim(line)}")
            sys.stderr.flush()

    def say(next_step: str) -> None:
        nonlocal step, began
        step, began = next_step, time.monotonic()

    shown = threading.Thread(target=show, daemon=True)
    shown.start()
    try:
        yield say
    finally:
        ended.set()
        shown.join()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
