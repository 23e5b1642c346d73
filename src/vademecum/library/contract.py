"""What a source of the library has to be: the whole contract on one page.

Idea: a source is a small class that asks one service or folder; the library gives it a context, holds it to bounds,
caches what it finds, takes out secrets, makes its text inert and says where it came from, so a source does none of
this. Invariant: `search`, `read` and `changes` raise `SourceError` or `NotFoundError` (`UsageError` for a wrong
argument) and nothing else on purpose; `available` never touches the network; a source keeps nothing but what it gets.

A third party registers a class under the entry point `vademecum.library`; its name is the entry's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from vademecum.clock import Clock
from vademecum.late import dataclass, field

if TYPE_CHECKING:
    from vademecum.library.cache import Cache
    from vademecum.library.web import Web
    from vademecum.store import Database


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a source has. `ref` is `<source>:<id>`: what `read` takes, and what a citation names.

    `revision` changes when the content does (empty: unknown); `time` is when it was last changed, UTC ms; `snippet` is
    at most some hundred characters; `kind` a word such as `paper`, `issue`, `page`, `record`, `file`.
    """

    ref: str
    title: str
    snippet: str = ""
    url: str = ""
    revision: str = ""
    time: int | None = None
    authors: tuple[str, ...] = ()
    kind: str = "document"
    detail: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Found:
    """Items, best first. `cursor` gets the next ones (empty: these are all); `hint` says what to try when none fit.

    `fetched` (UTC ms), `cached` and `problem` (why this is an old copy) are the library's to set.
    """

    items: tuple[Item, ...]
    cursor: str = ""
    hint: str = ""
    fetched: int = 0
    cached: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ChangesFound:
    """What has changed since the cursor that was given, oldest first; `cursor` is for the next call, whenever that is.

    A removed item has the kind `removed`.
    """

    items: tuple[Item, ...]
    cursor: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """The text of an item, in Markdown, or of one `part` of it.

    `parts` names its natural parts in order (`page 1`, `Sheet: Costs`, `comments`); a source that is asked for no part
    gives the whole text, or the first part when the whole would be too much. `fetched` (UTC ms), `cached`, `next` (the
    part that goes on from here) and `problem` (why this is an old copy) are the library's to set.
    """

    ref: str
    title: str
    text: str
    url: str = ""
    revision: str = ""
    time: int | None = None
    authors: tuple[str, ...] = ()
    kind: str = "document"
    part: str = ""
    parts: tuple[str, ...] = ()
    next: str = ""
    fetched: int = 0
    cached: bool = False
    problem: str = ""
    detail: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting that a source takes under `library.<name>`. A secret is kept in `.env` under `env`, nowhere else."""

    key: str
    help: str
    default: str = ""
    env: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter that `search` takes besides the query; `choices` empty: any text."""

    key: str
    help: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a source can be asked: `ok`, else `reason` (what is missing) and `hint` (what to install or set)."""

    ok: bool
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What a source may know of its host.

    `name` is its key under `library`; `settings` what stands there; `env` the environment over `.env`; `cache` keeps
    what is costly to make again (a converted file, say), under this source's name; `folder` is the folder from which
    relative paths of the settings count. `web` makes the guarded client: see `LibrarySource.web`. `db` opens the
    derived database, for a source that keeps an index of its own in it.
    """

    name: str
    settings: Mapping[str, Any]
    env: Mapping[str, str]
    clock: Clock
    cache: Cache
    folder: Path
    web: Callable[..., Web]
    db: Callable[[], Database]


class LibrarySource:
    """The base of every source. Made anew for each process; thread-safe once opened."""

    type: ClassVar[str] = ""
    """Its entry's name: lower-case letters, digits and hyphens. `library.<name>.type` chooses it for another name."""
    about: ClassVar[str] = ""
    """One sentence for people and for a model: what can be found here."""
    local: ClassVar[bool] = False
    """True when it reads this machine only: nothing it finds is cached, since it can be read again."""
    fresh: ClassVar[int] = 3_600_000
    """Milliseconds for which a cached answer is given without asking again."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.name = context.name

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """The settings that it takes."""
        return ()

    @classmethod
    def filters(cls) -> tuple[Filter, ...]:
        """What `search` takes besides the query."""
        return ()

    def available(self) -> Availability:
        """Whether packages, folders and credentials are there. No network, under 50 ms."""
        return Availability(True)

    def search(self, query: str, *, limit: int = 10, cursor: str = "", filters: Mapping[str, str]) -> Found:
        """What fits `query`; at most `limit` items, 1 to 50. Only declared filters arrive. Raises SourceError."""
        raise NotImplementedError

    def read(self, id: str, *, part: str = "") -> Document:  # noqa: A002  the design's word
        """The text of `id` (a ref without the source's name). Raises NotFoundError, SourceError."""
        raise NotImplementedError

    def changes(self, since: str = "") -> ChangesFound:
        """What has changed since the cursor `since`; without one the newest items, and a cursor. Raises SourceError."""
        raise NotImplementedError

    def document_of(self, id: str) -> str:  # noqa: A002  the design's word
        """The id of the whole document, when `id` may name a place in one; quarantine and forgetting go by it."""
        return id

    def close(self) -> None:
        """Let go of connections."""

    # --- for sources to use

    def ref(self, id: str) -> str:  # noqa: A002  the design's word
        """The ref of `id`."""
        return f"{self.name}:{id}"

    def web(self, base: str, *, headers: Mapping[str, str] | None = None, **options: Any) -> Web:
        """The guarded client for the setting `base_url`, else for `base`; `options` are those of `Web`.

        Only an address that a person configured may be of this machine or a private network. Raises ConfigError.
        """
        own = str(self.context.settings.get("base_url") or "").strip()
        return self.context.web(own or base, headers=headers, own=bool(own), **options)

    def env(self, key: str) -> str:
        """A secret from `.env`, by the setting's key; empty when there is none."""
        names = [one.env for one in self.settings() if one.key == key and one.env]
        return self.context.env.get(names[0], "").strip() if names else ""
