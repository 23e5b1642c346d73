"""`vademecum chat`: talk to the agent in a terminal, or through a pipe.

Idea: a loop of line, turn, events; all that is remembered happens below. Invariant: Ctrl-C ends an answer and never
the program; however the program is left, the session is ended, and what was said stays in it, except in an incognito
one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Generator
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING

import click

from vademecum.errors import NotFoundError, UsageError, VademecumError
from vademecum.surfaces.cli.app import App, Command

if TYPE_CHECKING:
    from vademecum.agent.session import Session
    from vademecum.models import ChatModel
    from vademecum.surfaces.cli.chat_screen import JsonScreen, Screen

LATEST = "latest"
CHANNEL = "chat"


@click.command(cls=Command)
@click.option("--resume", is_flag=False, flag_value=LATEST, metavar="[ID]", help="Go on with a session [the latest].")
@click.option("--key", help="Go on with the session of this key, or begin one.")
@click.option("--incognito", is_flag=True, help="Keep nothing of this conversation.")
@click.option("--model", metavar="NAME", help="Use this model, as vendor:name, instead of the configured one.")
@click.pass_obj
def chat(app: App, resume: str | None, key: str | None, incognito: bool, model: str | None) -> int:
    """Talk to the agent. Its memory is in the prompt; /help lists what can be typed besides words.

    Needs a model: set `model` in config.yaml, or give --model. Through a pipe, each line is one message.
    """
    if sum((resume is not None, key is not None, incognito)) > 1:
        raise UsageError("--resume, --key and --incognito exclude one another.", "Give one of them.")
    if model:
        app.overrides["model"] = model
    chosen = app.vm.model()  # first: without a model there is no session to open
    session = _opened(app, resume, key, incognito)
    with _signals_leave(), _background(app) as loaded:
        return _Conversation(app, session, chosen, loaded).run()


def _opened(app: App, resume: str | None, key: str | None, incognito: bool) -> Session:
    vm = app.vm
    if resume == LATEST:
        found = vm.history.recent(1, channel=CHANNEL)
        if not found:
            raise NotFoundError("There is no chat to resume yet.", "Start one with `vademecum chat`.")
        resume = found[0].id
    return vm.session(key, id=resume, channel=CHANNEL, incognito=incognito)


@contextlib.contextmanager
def _signals_leave() -> Generator[None]:
    """SIGTERM, and the SIGHUP of a window that is closed, leave the conversation as /quit does."""

    def leave(number: int, _frame: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_IGN)  # once is enough
        if number != signal.SIGTERM:  # the terminal is gone: what is still printed goes nowhere
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:  # what is ignored already, as under nohup, stays ignored
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is leave:  # else it came, and must not come again while we leave
                signal.signal(number, handler)


@contextlib.contextmanager
def _background(app: App) -> Generator[threading.Event]:
    """Reviews run beside the conversation; what is not done when it ends is taken up by the next process.

    Yields an event that is set once the model's library is loaded: that takes a second, in which the person types,
    and two threads that import it at once can each get half of it.
    """
    stop, loaded = threading.Event(), threading.Event()

    def work() -> None:
        from vademecum.agent.worker import run_background

        try:
            import_module("pydantic_ai.direct")
        finally:
            loaded.set()
        run_background(app.vm, stop)

    worker = threading.Thread(target=work, name="background", daemon=True)
    worker.start()
    try:
        yield loaded
    finally:
        stop.set()
        worker.join(timeout=1)


class _Conversation:
    """The loop: what the person types becomes a command or a turn."""

    def __init__(self, app: App, session: Session, model: ChatModel, loaded: threading.Event) -> None:
        from vademecum.agent.chat import Chat
        from vademecum.surfaces.cli.chat_screen import JsonScreen, Screen

        self._app = app
        self._model = model
        self._loaded = loaded
        self._chat = Chat(app.vm, session, model)
        self._screen: Screen | JsonScreen = JsonScreen() if app.json else Screen(app)
        self._failed = False

    def run(self) -> int:
        """Until /quit or the end of input; returns the exit code: 1 when a turn failed and nobody was there to see."""
        try:
            self._talk()
        finally:
            self._leave()
        return 1 if self._failed and not self._screen.interactive else 0

    def _talk(self) -> None:
        from vademecum.surfaces.cli.terminal import prompt

        self._screen.welcome(self._chat.session, self._model.name)
        if self._screen.interactive and self._app.vm.config.memory.provider:
            for line in self._app.vm.manager.at_start():
                self._screen.hint(line)
        while True:
            try:
                text = prompt(self._app.style).strip()
            except KeyboardInterrupt:
                self._screen.hint("\nCtrl-D or /quit leaves.")
                continue
            except EOFError:
                self._screen.hint("")
                break
            if text in ("/quit", "/exit"):
                break
            if text:
                self._handle(text)

    def _handle(self, text: str) -> None:
        try:
            if text == "/new":
                self._begin_anew()
            elif not self._screen.command(text):
                self._loaded.wait()
                self._screen.turn(self._chat, text)
        except KeyboardInterrupt:
            self._screen.hint("\rStopped. What had arrived is kept.")
        except VademecumError as error:
            self._failed = True
            self._screen.error(error)

    def _begin_anew(self) -> None:
        from vademecum.agent.chat import Chat

        old = self._chat.session
        if old.key is None:
            old.close("new")
        fresh = self._app.vm.session(old.key, channel=CHANNEL, new=old.key is not None, incognito=old.incognito)
        self._chat = Chat(self._app.vm, fresh, self._model)
        self._screen.hint("A new session has begun; memory was read again.")

    def _leave(self) -> None:
        session = self._chat.session
        self._screen.goodbye(session)
        if session.key is None:
            session.close()
