"""The root of the command line: global options, lazy commands, and how an error is printed.

Idea: a command is a name and the module that holds it, imported when it runs. Invariant: an error of ours is a message
and a hint on stderr (with `--json` the object `{"error": ...}` on stdout) and an exit code, never a traceback.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from vademecum import __version__
from vademecum.errors import NotFoundError, RefusedError, UsageError, VademecumError
from vademecum.surfaces.cli.output import Style, dumps, printable

if TYPE_CHECKING:
    from vademecum.agent.vademecum import Vademecum
    from vademecum.model import Origin

INTERRUPTED = 130


class App:
    """What every command is given: the global options, the opened home, and the way to print."""

    def __init__(self) -> None:
        self.home: str | None = None
        self.agent = os.environ.get("VADEMECUM_AGENT") or "default"
        self.user = os.environ.get("VADEMECUM_USER") or "owner"
        self.json = False
        self.overrides: dict[str, object] = {}
        self.style = Style.for_stream(sys.stdout)
        self._vm: Vademecum | None = None

    @property
    def vm(self) -> Vademecum:
        """The home, opened on first use; an agent that had to be made is announced on stderr.

        Raises NotFoundError for an agent that is not there, unless the command is one of MAKERS.
        """
        if self._vm is None:
            from vademecum.agent.vademecum import open as open_home

            if self.agent != "default" and _command() not in MAKERS:
                self._must_be_there()
            self._vm = open_home(self.home, self.agent, self.user, self.overrides)
            if self._vm.made and self.agent != "default":  # a mistyped name should not go unnoticed
                self.note(f"Agent {self.agent} is new: {self._vm.folder.root}")
        return self._vm

    def _must_be_there(self) -> None:
        from vademecum.agent.vademecum import agent_names
        from vademecum.config import load
        from vademecum.home import Home

        home = Home.find(self.home)
        config = load(home.config, self.overrides)
        if self.agent in config.agents or home.agent(self.agent, config).root.is_dir():
            return
        import difflib  # only on the way to an error

        names = agent_names(home, config)
        close = difflib.get_close_matches(self.agent, names, n=1)
        raise NotFoundError(
            f"There is no agent {self.agent!r} in {home.root}. Nothing was made.",
            f"Did you mean {close[0]!r}?" if close else f"`vademecum agent add {self.agent}` makes it.",
        )

    @property
    def origin(self) -> Origin:
        """Who is typing: a person on a terminal, else an assistant that uses the command."""
        from vademecum.surfaces.cli.origin import actor_origin

        return actor_origin()

    def emit(self, data: object, *lines: str) -> None:
        """Print `data` as JSON with `--json`, else the `lines`."""
        if self.json:
            print(dumps(data))
        else:
            for line in lines:
                print(line)

    def emit_list(self, results: Sequence[object], *lines: str, query: str = "", hint: str = "") -> None:
        """Print a list in the shape that scripts rely on, else the `lines`."""
        self.emit({"results": list(results), "query": query, "hint": hint}, *lines)

    def owners_only(self) -> None:
        """Raise RefusedError unless this is for the owner: what agents share is shown in nobody else's conversation."""
        if not self.vm.actor.is_owner:
            raise RefusedError(
                f"What the agents share is not shown to {self.user}.", "It belongs to the owner: leave out --user."
            )

    def shown(self, value: Any) -> Any:
        """`value` (JSON, or lines) without secrets, which somebody may have typed into a file."""
        return self.vm.gate.redactor.value(value)

    def warn_of_provider(self) -> None:
        """Say on stderr that the memory in use has a name that there is not; the bank works all the same."""
        name = self.vm.config.memory.provider
        if name in ("", "bank"):
            return
        from vademecum.providers.registry import misnamed

        if wrong := misnamed(name):
            said = f"warning: {wrong.message} This is the bank, and nothing else is told or asked. {wrong.hint}"
            print(Style.for_stream(sys.stderr).warn(printable(said)), file=sys.stderr)

    def note(self, line: str) -> None:
        """A line for the person that is no part of the output: stderr, and nothing with `--json`."""
        if not self.json:
            print(Style.for_stream(sys.stderr).dim(line), file=sys.stderr)


MAKERS = frozenset(
    {
        "agent add",
        "chat",
        "checkpoint",
        "client install",
        "client sync",
        "decide",
        "fact import",
        "import basic-memory",
        "import chatgpt",
        "import claude-ai",
        "import claude-code",
        "import codex",
        "import hermes",
        "import jsonl",
        "import markdown",
        "import mem0",
        "import mempalace",
        "import openclaw",
        "init",
        "log ack",
        "log add",
        "mcp",
        "memory add",
        "memory edit",
        "note today",
        "note write",
        "pipe",
        "project set",
        "retain",
        "serve",
        "session new",
        "token new",
        "vault init",
    }
)
"""The commands that make the agent of --agent when there is none; every other one only reads, or takes away."""


def _command() -> str:
    """The running command without the program's name, as `memory add`."""
    context = click.get_current_context(silent=True)
    return "" if context is None else context.command_path.partition(" ")[2]


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        if value is not None and value is not False:
            setattr(context.ensure_object(App), name, value)

    return callback


def global_options(*, hidden: bool) -> list[click.Option]:
    """The options of every command; documented once, before the command, and understood after it too."""

    def option(name: str, metavar: str, text: str) -> click.Option:
        return click.Option(
            [f"--{name}"], metavar=metavar, callback=_set(name), help=text, expose_value=False, hidden=hidden
        )

    return [
        option("home", "PATH", "Home folder [$VADEMECUM_HOME, ~/.vademecum]."),
        option("agent", "NAME", "Whose memory [$VADEMECUM_AGENT, default]."),
        option("user", "NAME", "Whom the agent talks to [$VADEMECUM_USER, owner]."),
    ]


def _json_option(*, hidden: bool) -> click.Option:
    return click.Option(
        ["--json"], is_flag=True, expose_value=False, callback=_set("json"), help="Print JSON.", hidden=hidden
    )


def _with_globals(parameters: list[click.Parameter], *, json_hidden: bool) -> list[click.Parameter]:
    """`parameters` and the global options; one that a command defines itself (`client install --user`) is its own."""
    taken = {option for parameter in parameters for option in parameter.opts}
    shared = [*global_options(hidden=True), _json_option(hidden=json_hidden)]
    return [*parameters, *(option for option in shared if not taken & set(option.opts))]


class Command(click.Command):
    """A command with `--json`, and the global options for whoever types them last."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params = _with_globals(self.params, json_hidden=False)


class Group(click.Group):
    """A group of commands that says what it can do when none is named."""

    command_class = Command

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params = _with_globals(self.params, json_hidden=True)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(self.commands)  # as they are defined: what one needs first comes first

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # only on the way to an error

            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = (
                f"Did you mean `{ctx.command_path} {close[0]}`?"
                if close
                else f"`{ctx.command_path} --help` lists them."
            )
            raise UsageError(f"There is no command `{ctx.command_path} {args[0]}`.", hint) from error


SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Memory": {
        "memory": ("memory:memory", "Show and change what is always in the prompt"),
        "note": ("note:note", "One fact a file, read on demand"),
        "fact": ("fact:fact", "Facts one by one, and the whole bank as Markdown"),
        "retain": ("retain:retain", "Keep a fact, or look through conversations for facts"),
        "recall": ("recall:recall", "Ask what was learnt and said, and correct a fact"),
        "reflect": ("consolidate:reflect", "Answer a question from all that is known, with what says so"),
        "consolidate": ("consolidate:consolidate", "Tidy what was learnt; a report first"),
        "promote": ("consolidate:promote", "Propose a fact for the core or the notes"),
        "review": ("review:review", "Decide on what waits for you"),
        "history": ("history:history", "Who changed what, when and why"),
        "undo": ("history:undo", "Bring back what was there before a change"),
        "quarantine": ("forget:quarantine", "Take what came from somewhere out of every prompt and search"),
        "release": ("forget:release", "Give back what is in quarantine"),
        "forget": ("forget:forget", "Erase for good what came from somewhere, with a receipt"),
    },
    "Conversations": {
        "chat": ("chat:chat", "Talk to the agent"),
        "session": ("session:session", "List, read, search and delete conversations"),
    },
    "Shared": {
        "decide": ("decide:decide", "Write down what holds for every agent"),
        "decisions": ("decide:decisions", "What stands, who decided it and why"),
        "project": ("project:project", "The state of each project"),
        "checkpoint": ("handover:checkpoint", "Write down where the work stands"),
        "resume": ("handover:resume", "Take up your work, or another agent's"),
        "rules": ("handover:rules", "What to tell an agent, so that it works with the others"),
    },
    "Vault": {
        "log": ("log:log", "What the agents that share a vault did, one line each"),
        "vault": ("vault:vault", "Make the shared folder, merge what sync tools left, look after keys"),
        "wiki": ("wiki:wiki", "What is known, page by page: compile it, take sources in, file answers"),
    },
    "Library": {
        "library": ("library:library", "Look up what others wrote: papers, issues, pages, files"),
    },
    "Clients": {
        "client": ("clients:client", "Give an agent that you use this memory, or take it away"),
        "mcp": ("serving:mcp", "Serve one client over standard input and output"),
        "serve": ("serving:serve", "Serve several clients over HTTP, with a status page"),
        "token": ("setup:token", "Make, list and revoke tokens for the HTTP server"),
        "import": ("imports:import_", "Bring in what another agent has kept"),
        "hook": ("serving:hook", ""),
        "pipe": ("serving:pipe", ""),
    },
    "Home": {
        "init": ("setup:init", "Make a home, or adopt an agent's folder in place"),
        "agent": ("setup:agent", "Add and list agents"),
        "provider": ("provider:provider", "External memories: list them, what waits for them, move between them"),
        "config": ("setup:config", "Print every setting and where it comes from"),
        "doctor": ("doctor:doctor", "Check everything, and repair what can be repaired"),
        "backup": ("care:backup", "Write the home into one checked file"),
        "export": ("export:export", "Write everything into a folder to read, keep and take along"),
        "restore": ("care:restore", "Put a backup in the place of the home"),
        "verify": ("verify:verify", "Prove the history, and find files changed by hand"),
        "reindex": ("care:reindex", "Build the search index again"),
    },
}
"""Section: command: where it is defined, and what the list of commands says of it (nothing: left out)."""


class Root(Group):
    """The group of all commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return [name for commands in SECTIONS.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        for commands in SECTIONS.values():
            if cmd_name in commands:
                module, _, attribute = commands[cmd_name][0].partition(":")
                return getattr(import_module(f"vademecum.surfaces.cli.{module}"), attribute)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        widest = max(len(name) for commands in SECTIONS.values() for name in commands)
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(f"{name:<{widest}}", words) for name, (_, words) in commands.items() if words]
                formatter.write_dl(rows, col_spacing=4)


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def root() -> None:
    """Memory for AI agents: bounded, curated, always in the prompt, and a history that can be searched."""


root.params = [
    *global_options(hidden=False),
    _json_option(hidden=False),
    *(p for p in root.params if p.name == "version"),
]


def run_command(args: list[str]) -> int:
    """Run `args` and return the exit code; every error of ours is printed here and nowhere else."""
    _speak_utf8()
    app = App()
    try:
        with contextlib.closing(_Closing(app)):
            result = root.main(args, prog_name="vademecum", standalone_mode=False, obj=app)
        _flush()
    except VademecumError as error:
        return _failed(app, args, error)
    except click.exceptions.NoArgsIsHelpError as error:
        if app.json:
            return _failed(app, args, UsageError("No command was given.", "`vademecum --help` lists them."))
        print(error.format_message(), file=sys.stderr)
        return error.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "vademecum"
        hint = f"`{where} --help` shows what it takes."
        if isinstance(error, click.NoSuchOption):
            hint += " Text that begins with a dash goes after `--`."
        return _failed(app, args, UsageError(error.format_message(), hint))
    except click.ClickException as error:
        return _failed(app, args, UsageError(error.format_message()))
    except (click.Abort, KeyboardInterrupt):  # click has ended the line
        return INTERRUPTED
    except BrokenPipeError:  # the reader (head, less) has seen enough
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result if isinstance(result, int) else 0


class _Closing:
    """Closes the home when the command ends, so that the write-ahead log is folded in."""

    def __init__(self, app: App) -> None:
        self._app = app

    def close(self) -> None:
        opened = self._app.__dict__.get("_vm")
        if opened is not None:
            opened.close()


def _failed(app: App, args: Sequence[str], error: VademecumError) -> int:
    if app.json or "--json" in args:
        print(dumps(error.as_dict()))
    else:
        style = Style.for_stream(sys.stderr)
        print(f"{style.bad('error:')} {printable(error.message)}", file=sys.stderr)
        if error.hint:
            print(f"{style.dim('hint: ')} {printable(error.hint)}", file=sys.stderr)
    return error.exit_code


def _speak_utf8() -> None:
    """UTF-8 in and out on every platform, also through pipes; a lone surrogate is shown, not a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")  # pyright: ignore[reportUnknownMemberType]


def _flush() -> None:
    sys.stdout.flush()
