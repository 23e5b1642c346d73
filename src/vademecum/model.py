"""The words of the project as frozen dataclasses: what rooms hand to one another.

Idea: one small type a noun, no behaviour but parsing and printing. Invariant: nothing here imports a room, so that
every room may import it; an `Origin` survives `Origin.parse(str(origin))`.
"""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote, unquote

from vademecum.late import dataclass, replace

OWNER = "owner"
"""The user whom an agent belongs to."""

StoreName = Literal["memory", "user"]
"""The two bounded stores of the core."""

OriginKind = Literal["person", "user", "assistant", "tool", "connector", "agent", "import", "file"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where content came from; computed by the host, never by the model.

    Printed as `kind`, `kind:name`, `kind:name#item` or `kind:name#item!digest`, parts percent-encoded: `person`,
    `user:42`, `tool:web_fetch#https%3A//example.org`, `connector:arxiv#2401.1!v2`, `import:/a/file!9f86d08`. A text
    that was made from others names them behind a `+`: `assistant+tool:web_fetch#https%3A//example.org`.
    """

    kind: OriginKind
    name: str = ""
    item: str = ""
    digest: str = ""
    """Hash of the content, or the source's revision; empty when unknown."""
    derived: tuple[Origin, ...] = ()
    """What the text was made from, each without derivations of its own."""

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
    def tool(name: str, url: str | None = None, digest: str = "") -> Origin:
        """Put out by the tool `name`, for what it fetched from `url`; `digest` is the hash of what it put out."""
        return Origin("tool", name, url or "", digest)

    @staticmethod
    def connector(source: str, item: str, revision: str = "") -> Origin:
        """Read from `item` of the outside source `source`, in that revision."""
        return Origin("connector", source, item, revision)

    @staticmethod
    def agent(id: str) -> Origin:  # noqa: A002  the design's word
        """Written by another agent."""
        return Origin("agent", id)

    @staticmethod
    def import_(file: str, digest: str = "") -> Origin:
        """Imported from `file`, whose content had that hash; a name that is not UTF-8 is spelt out."""
        return Origin("import", file.encode("utf-8", "backslashreplace").decode(), digest=digest)

    @staticmethod
    def file() -> Origin:
        """A hand edit that was found on disk."""
        return Origin("file")

    @property
    def parts(self) -> tuple[Origin, ...]:
        """This origin without its derivations, then each of them; trust is that of the least trusted."""
        return (replace(self, derived=()), *self.derived) if self.derived else (self,)

    def joined(self, *others: Origin) -> Origin:
        """The origin of a text that was made from this one and `others`: nothing is lost, nothing doubled."""
        own, *rest = dict.fromkeys(part for origin in (self, *others) for part in origin.parts)
        return replace(own, derived=tuple(rest))

    def __str__(self) -> str:
        return "+".join(_printed(part) for part in self.parts)

    @staticmethod
    def parse(text: str) -> Origin:
        """The origin that `str()` printed. Raises ValueError for another text."""
        own, *rest = (_parsed(part) for part in text.split("+"))
        return replace(own, derived=tuple(rest))


def _printed(part: Origin) -> str:
    text: str = part.kind
    if part.name or part.item or part.digest:
        text += ":" + _quoted(part.name)
    if part.item:
        text += "#" + _quoted(part.item)
    if part.digest:
        text += "!" + _quoted(part.digest)
    return text


def _quoted(text: str) -> str:
    return quote(text, safe="/@.", errors="surrogatepass")  # a file's name need not be UTF-8


def _unquoted(text: str) -> str:
    try:
        return unquote(text, errors="surrogatepass")
    except UnicodeDecodeError:
        return unquote(text)


def _parsed(text: str) -> Origin:
    head, _, digest = text.partition("!")
    head, _, item = head.partition("#")
    kind, _, name = head.partition(":")
    match kind:
        case "person" | "user" | "assistant" | "tool" | "connector" | "agent" | "import" | "file":
            return Origin(kind, _unquoted(name), _unquoted(item), _unquoted(digest))
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
