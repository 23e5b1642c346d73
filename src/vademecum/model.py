"""The words of the project as frozen dataclasses: what rooms hand to one another.

Idea: one small type a noun, no behaviour but parsing and printing. Invariant: nothing here imports a room, so that
every room may import it; an `Origin` survives `Origin.parse(str(origin))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, unquote

OWNER = "owner"
"""The user whom an agent belongs to."""

StoreName = Literal["memory", "user"]
"""The two bounded stores of the core."""

OriginKind = Literal["person", "user", "assistant", "tool", "connector", "agent", "import", "file"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where content came from; computed by the host, never by the model.

    Printed as `kind`, `kind:name` or `kind:name#item`, parts percent-encoded: `person`, `user:42`,
    `tool:web_fetch#https%3A//example.org`, `connector:arxiv#2401.1`, `agent:lyra`, `import:/a/file`.
    """

    kind: OriginKind
    name: str = ""
    item: str = ""

    @staticmethod
    def person() -> Origin:
        """Typed by a person on a terminal or the web page."""
        return Origin("person")

    @staticmethod
    def user(id: str = OWNER) -> Origin:  # noqa: A002  the design's word
        """Said by the user `id` in a conversation."""
        return Origin("user", id)

    @staticmethod
    def assistant() -> Origin:
        """Written by the model itself."""
        return Origin("assistant")

    @staticmethod
    def tool(name: str, url: str | None = None) -> Origin:
        """Put out by the tool `name`, for what it fetched from `url`."""
        return Origin("tool", name, url or "")

    @staticmethod
    def connector(source: str, item: str) -> Origin:
        """Read from `item` of the outside source `source`."""
        return Origin("connector", source, item)

    @staticmethod
    def agent(id: str) -> Origin:  # noqa: A002  the design's word
        """Written by another agent."""
        return Origin("agent", id)

    @staticmethod
    def import_(file: str) -> Origin:
        """Imported from `file`."""
        return Origin("import", file)

    @staticmethod
    def file() -> Origin:
        """A hand edit that was found on disk."""
        return Origin("file")

    def __str__(self) -> str:
        text: str = self.kind
        if self.name or self.item:
            text += ":" + quote(self.name, safe="/@.")
        if self.item:
            text += "#" + quote(self.item, safe="/@.")
        return text

    @staticmethod
    def parse(text: str) -> Origin:
        """The origin that `str()` printed. Raises ValueError for another text."""
        head, _, item = text.partition("#")
        kind, _, name = head.partition(":")
        match kind:
            case "person" | "user" | "assistant" | "tool" | "connector" | "agent" | "import" | "file":
                return Origin(kind, unquote(name), unquote(item))
            case _:
                raise ValueError(f"not an origin: {text!r}")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a call: an agent, and the user it talks to. Decides which files and sessions are seen."""

    agent: str = "default"
    user: str = OWNER

    @property
    def is_owner(self) -> bool:
        """True when the user is the agent's owner."""
        return self.user == OWNER


def tokens(text: str) -> int:
    """The project's count of tokens: ceil(UTF-8 bytes / 4)."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it: `parameters` is a JSON Schema of type object with no `anyOf` at its top."""

    name: str
    description: str
    parameters: dict[str, Any]
