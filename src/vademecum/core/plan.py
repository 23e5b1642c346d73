"""What a change will do to a store, worked out before anything is written.

Idea: operations run on an immutable document, and the plan remembers which entries go, which come, and which took whose
place, so that the gate, the ledger and the answer all speak of the same change. Invariant: an operation that cannot be
carried out raises, and the document that was read is untouched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, assert_never

from vademecum.core.entries import Document, clean, near_key, preview
from vademecum.errors import AmbiguousError, BlockedError, NotFoundError, UsageError
from vademecum.gate.redactor import Redactor
from vademecum.late import dataclass

Shown = Callable[[Document], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of a store: `content` for add and replace, `old_text` for replace and remove.

    `place` is before which entry an added one goes, counted from 0; None: it comes last.
    """

    action: Literal["add", "replace", "remove"]
    content: str = ""
    old_text: str = ""
    place: int | None = None


def without_secrets(redactor: Redactor, operations: Sequence[Operation]) -> tuple[list[Operation], tuple[str, ...]]:
    """The operations as they may be kept, and the kinds of secrets that were replaced in their contents.

    An entry is also found by a text with a secret in it: the prompt shows the mark as well.
    """
    kinds: list[str] = []
    clean: list[Operation] = []
    for operation in operations:
        content = redactor.redact(operation.content)
        kinds += content.kinds
        clean.append(Operation(operation.action, content.text, redactor.clean(operation.old_text), operation.place))
    return clean, tuple(kinds)


def entry_text(text: str) -> str:
    """`text` as an entry may hold it. Raises UsageError for an empty one, BlockedError for half a character."""
    cleaned = clean(text)
    if not cleaned:
        raise UsageError("The entry is empty. Nothing was written.", "Give the entry's text as `content`.")
    if not cleaned.isascii():
        try:
            cleaned.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BlockedError(
                f"The text holds half a character (a lone surrogate) at position {error.start}. Nothing was written.",
                "Send the text again with that character whole or left out.",
            ) from error
    return cleaned


def matched(document: Document, old_text: str, store: str, shown: Shown) -> str:
    """The text of the one entry that `old_text` means: the whole entry, else the only one that contains it.

    An entry may also be quoted in the form the prompt shows. Raises NotFoundError, AmbiguousError, UsageError.
    """
    wanted = clean(old_text)
    if not wanted:
        raise UsageError(
            "`old_text` is empty. Nothing was written.", "Give a short part of the entry that only it contains."
        )
    texts = document.texts
    if wanted in texts:
        return wanted
    for forms in (lambda: texts, lambda: shown(document)):
        found: dict[str, None] = {}
        for text, form in zip(texts, forms(), strict=True):
            if form == wanted:
                return text
            if wanted in form:
                found[text] = None
        if len(found) == 1:
            return next(iter(found))
        if found:
            raise AmbiguousError(
                f"{len(found)} entries of {store!r} contain {preview(wanted)!r}. Nothing was written.",
                "Give a longer part of the entry that you mean, or the whole entry.",
                tuple(preview(text) for text in found),
            )
    raise NotFoundError(
        f"No entry of {store!r} contains {preview(wanted)!r}. Nothing was written.",
        "Quote a part of an entry exactly as it stands in the store.",
    )


class Plan:
    """A change being worked out: `base` as read, `document` as it will be."""

    def __init__(self, base: Document) -> None:
        self.base = base
        self.document = base
        self._pairs: list[tuple[str, str]] = []
        self._gone: list[str] = []
        self._new: list[str] = []
        self._steps: list[str] = []

    @staticmethod
    def rewritten(base: Document, after: Document, step: str = "") -> Plan:
        """The plan that makes `after` of `base`, as a person's editor did; `step` is what to say of it."""
        plan = Plan(base)
        plan.document = after
        had, has = Counter(base.texts), Counter(after.texts)
        plan._gone, plan._new = list((had - has).elements()), list((has - had).elements())
        plan._steps = [step or f"Saved: {len(plan._new)} entries are new or changed, {len(plan._gone)} are gone."]
        return plan

    def reworded(self, texts: Sequence[str]) -> Plan:
        """The same plan with `texts` as the entries that come, in the order of `added` (secrets were redacted)."""
        words = dict(zip(self.added, texts, strict=True))
        plan = Plan(self.base)
        plan.document = self.document
        for old, text in words.items():
            if old != text:
                plan.document = plan.document.replaced(plan.document.texts.index(old), text)
        plan._pairs = [(before, words[after]) for before, after in self._pairs]
        plan._gone, plan._steps = self._gone, self._steps
        plan._new = [words[text] for text in self._new]
        return plan

    @property
    def added(self) -> list[str]:
        """Entries that come, those that take another's place first."""
        return [after for _, after in self._pairs] + self._new

    @property
    def removed(self) -> list[str]:
        """Entries that go, in the same order."""
        return [before for before, _ in self._pairs] + self._gone

    @property
    def message(self) -> str:
        """What is done, a sentence for each kind of step."""
        counts = Counter(self._steps)
        return " ".join(f"{n} x {step}" if n > 1 else step for step, n in counts.items())

    def carry_out(self, operation: Operation, store: str, shown: Shown) -> None:
        """Put one operation on top. Raises NotFoundError, AmbiguousError, UsageError, BlockedError."""
        match operation.action:
            case "add":
                self.add(entry_text(operation.content), operation.place)
            case "remove":
                self.remove(matched(self.document, operation.old_text, store, shown))
            case "replace":
                if not clean(operation.content):
                    raise UsageError(
                        "Replace needs the new text. Nothing was written.", "Use remove to take an entry out."
                    )
                old = matched(self.document, operation.old_text, store, shown)
                self.replace(old, entry_text(operation.content))
            case _:
                assert_never(operation.action)

    def add(self, text: str, place: int | None = None) -> None:
        """Put `text` before the entry number `place` (None: last), unless it is there."""
        if text in self.document.texts:
            self._steps.append("This entry is there already: nothing to add, do not repeat it.")
            return
        self.document = self.document.added(text) if place is None else self.document.inserted(place, text)
        self._new.append(text)
        self._steps.append("Entry added.")

    def remove(self, text: str) -> None:
        """Take out the (first) entry that is `text`."""
        self.document = self.document.removed(self.document.texts.index(text))
        self._went(text)
        self._steps.append("Entry removed.")

    def replace(self, old: str, text: str) -> None:
        """Put `text` in the place of `old`; when `text` stands elsewhere already, only `old` goes."""
        if old == text:
            self._steps.append("The entry reads like that already: nothing to replace, do not repeat it.")
            return
        if text in self.document.texts:
            self.remove(old)
            self._steps[-1] = "Entry removed: the new text is there already as another entry."
            return
        self.document = self.document.replaced(self.document.texts.index(old), text)
        first = self._went(old)
        if first is None:
            self._new.append(text)
        else:
            self._gone.remove(first)
            self._pairs.append((first, text))
        self._steps.append("Entry replaced.")

    def _went(self, text: str) -> str | None:
        """Note that `text` goes; the entry of the file that it stood for, None when this plan itself had added it."""
        if text in self._new:
            self._new.remove(text)
            return None
        original = next((before for before, after in self._pairs if after == text), text)
        self._pairs = [pair for pair in self._pairs if pair[1] != text]
        self._gone.append(original)
        return original

    def near_duplicates(self) -> list[str]:
        """A sentence for each new entry that repeats another in other spelling, with that entry."""
        added = self.added
        keys = {near_key(text): text for text in self.document.texts if text not in added} if added else {}
        found: list[str] = []
        for text in added:
            other = keys.setdefault(near_key(text), text)
            if other != text:
                found.append(f"It says the same as this entry: {preview(other, 200)!r}. Keep one: remove the other.")
        return found
