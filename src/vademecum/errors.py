"""Every error that vademecum raises on purpose, in one tree.

    VademecumError
    ├── UsageError            the call itself is wrong (exit code 2)
    │   └── ConfigError       config.yaml or .env cannot be used
    ├── RefusedError          the gate, a limit or a rule said no; what was there is kept
    │   ├── FullError         a bounded store or index has no room
    │   ├── BlockedError      the gate refused the text
    │   └── DisabledError     the store or feature is switched off
    ├── NotFoundError         nothing has that name, id or text
    │   └── AmbiguousError    several things have it
    ├── ConflictError         somebody else changed it meanwhile
    ├── LockedError           another process holds the lock, or the database is busy
    ├── UnreadableError       a file cannot be read as what it should be
    ├── StorageError          the disk or the database refused (full, read-only, damaged)
    ├── ModelError            the chat model or the embedder could not be reached or answered nonsense
    │   └── NoModelError      no model is configured
    ├── ProviderError         the external memory could not be used
    └── SourceError           an outside source of the library could not be asked, or answered nonsense

Invariant: a message says what was wrong and what was kept; a hint says what to do next. `code` is stable (see
VERSIONING.md), the wording is not.
"""

from __future__ import annotations

from typing import ClassVar


class VademecumError(Exception):
    """Base of all errors of this package.

    `message` says what was wrong and what was kept, `hint` what to do next (may be empty),
    `code` is the stable name for scripts, `exit_code` what the command line exits with.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_dict(self) -> dict[str, dict[str, object]]:
        """The JSON form `{"error": {"code", "message", "hint"}}` that scripts may rely on."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class UsageError(VademecumError):
    """The call itself is wrong; nothing was read or written."""

    code = "usage"
    exit_code = 2


class ConfigError(UsageError):
    """config.yaml, .env or an override cannot be used; the file was left as it is."""

    code = "config"


class RefusedError(VademecumError):
    """A rule said no; what was there before is unchanged. `rule` is the gate's name for it, when it was the gate."""

    code = "refused"
    rule = ""


class FullError(RefusedError):
    """A bounded store or index has no room for the change; nothing was written, nothing dropped."""

    code = "full"


class BlockedError(RefusedError):
    """The gate refused the text for what it holds."""

    code = "blocked"


class DisabledError(RefusedError):
    """The store or feature is switched off in the configuration."""

    code = "disabled"


class NotFoundError(VademecumError):
    """Nothing has that name, id or text."""

    code = "not_found"


class AmbiguousError(NotFoundError):
    """Several things match; `matches` holds a preview of each."""

    code = "ambiguous"

    def __init__(self, message: str, hint: str = "", matches: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.matches = matches

    def as_dict(self) -> dict[str, dict[str, object]]:
        """As for every error, with the previews as `matches`."""
        data = super().as_dict()
        data["error"]["matches"] = list(self.matches)
        return data


class ConflictError(VademecumError):
    """The thing changed after it was read; the newer state was kept.

    `version` is what there is now, `diff` what tells it from what the caller had read or wanted to write; may be empty.
    """

    code = "conflict"

    def __init__(self, message: str, hint: str = "", *, version: str = "", diff: str = "") -> None:
        super().__init__(message, hint)
        self.version = version
        self.diff = diff

    def as_dict(self) -> dict[str, dict[str, object]]:
        """As for every error, with `version` and `diff` when there are any."""
        data = super().as_dict()
        data["error"] |= {name: value for name, value in (("version", self.version), ("diff", self.diff)) if value}
        return data


class LockedError(VademecumError):
    """Another process holds the lock and did not let go within the bounded wait."""

    code = "locked"


class UnreadableError(VademecumError):
    """A file exists and cannot be read as what it should be; it was left as it is."""

    code = "unreadable"


class StorageError(VademecumError):
    """The disk or the database refused: full, read-only or damaged."""

    code = "storage"


class ModelError(VademecumError):
    """The chat model or the embedder could not be reached or did not answer usefully.

    `status` is the HTTP status of the vendor's answer, if one came; `retry_after` how many seconds it asks to wait.
    """

    code = "model"

    def __init__(
        self, message: str, hint: str = "", status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.retry_after = retry_after


class NoModelError(ModelError):
    """No model is configured; everything else works without one."""

    code = "no_model"


class ProviderError(VademecumError):
    """The external memory could not be reached, refused, or answered nonsense; what was to be stored is kept.

    `passing` is true when the same call may succeed later (no network, 429, 500, time-out); `retry_after` how many
    seconds the vendor asks to wait; `status` its HTTP status, if one came.
    """

    code = "provider"

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        passing: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.passing = passing
        self.status = status
        self.retry_after = retry_after


class SourceError(VademecumError):
    """An outside source of the library could not be reached, refused, or answered nonsense; what is cached is kept.

    `passing` is true when the same call may succeed later (no network, 429, 500, time-out); `retry_after` how many
    seconds the source asks to wait; `status` its HTTP status, if one came.
    """

    code = "source"

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        passing: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.passing = passing
        self.status = status
        self.retry_after = retry_after
