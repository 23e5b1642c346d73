"""A program in a pseudo-terminal: type, wait for what it shows, interrupt."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


def _as_a_person_starts_it() -> None:
    """On a terminal of its own, and heeding signals that a suite in the background ignores."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """Runs `command` on a terminal of 90 columns; `screen` is all it has shown, without control sequences."""

    def __init__(self, command: list[str], env: dict[str, str], columns: int = 90) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env | {"TERM": "xterm-256color", "LANG": "C.UTF-8"},
            start_new_session=True,
            preexec_fn=_as_a_person_starts_it,
        )
        os.close(slave)
        self._bytes = b""
        self._seen = 0

    @property
    def screen(self) -> str:
        return _CONTROL.sub("", self._bytes.decode("utf-8", "replace")).replace("\r", "")

    def expect(self, text: str, seconds: float = 30) -> str:
        """Read until `text` is shown after what was expected before; returns what came up to its end."""
        end = time.monotonic() + seconds
        while text not in self.screen[self._seen :]:
            assert time.monotonic() < end, f"{text!r} was not shown; after {self._seen}:\n{self.screen[self._seen :]}"
            if not self._read(0.1) and self._process.poll() is not None:
                raise AssertionError(f"the program ended before {text!r} was shown:\n{self.screen}")
        start = self._seen
        self._seen = self.screen.index(text, start) + len(text)
        return self.screen[start : self._seen]

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def line(self, text: str) -> None:
        self.type(text + "\r")

    def interrupt(self) -> None:
        self.type("\x03")

    def interrupt_until(self, text: str) -> None:
        """Ctrl-C until `text` is shown: Python sees one that comes just before it waits for input only after that."""
        for _ in range(10):
            self.interrupt()
            end = time.monotonic() + 2
            while text not in self.screen[self._seen :] and time.monotonic() < end:
                self._read(0.1)
            if text in self.screen[self._seen :]:
                break
        self.expect(text, 1)

    def wait(self, seconds: float = 30) -> int:
        """The exit code, once the program ended."""
        end = time.monotonic() + seconds
        while self._process.poll() is None:
            assert time.monotonic() < end, f"the program did not end:\n{self.screen}"
            self._read(0.1)
        while self._master >= 0 and self._read(0):
            pass
        return self._process.returncode

    def _read(self, seconds: float) -> bool:
        if self._master < 0:
            time.sleep(min(seconds, 0.02))
            return False
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # the program closed its side
            return False
        self._bytes += piece
        return bool(piece)

    def signal(self, number: int, seconds: float = 30) -> None:
        """Send a signal that ends the program, again until it does: one that comes just before a wait for input is seen
        only after it."""
        end = time.monotonic() + seconds
        while self._process.poll() is None:
            assert time.monotonic() < end, f"the program did not end:\n{self.screen}"
            self._process.send_signal(number)
            self._read(0.5)

    def close(self) -> None:
        """Close the window: the kernel tells the program with SIGHUP."""
        os.close(self._master)
        self._master = -1

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._master >= 0:
            os.close(self._master)
