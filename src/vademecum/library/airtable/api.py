"""The requests to Airtable's Web API, what a ref means, formulas, and how records become items.

Idea: the schema says what a field is, so values can be shown and searched by their kind; it is kept for some minutes.
Invariant: five requests a second at most, and thirty seconds of rest after a refusal, as Airtable asks; every text in a
formula is quoted here.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from vademecum.errors import NotFoundError, SourceError, UsageError
from vademecum.library.contract import Item, LibrarySource
from vademecum.library.shapes import Json, listed, ms, obj, objs, short, text
from vademecum.library.web import Web

BASE = "https://api.airtable.com"
PAGE = 100
"""Records of one answer, the most that Airtable gives."""

_PACE, _PENALTY = 0.2, 30.0  # seconds
_KEPT = 300_000  # ms for which a schema is not asked for again
_PAGES = 20  # of the list of bases, a thousand each
_ID = re.compile(r"(?:app|tbl|viw|rec)[A-Za-z0-9]{10,20}")
_GONE = (403, 404)


@dataclass(frozen=True, slots=True)
class Place:
    """What a ref names, by ids; `table` may be a name. Empty: not said."""

    base: str
    table: str = ""
    view: str = ""
    record: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a base: its schema."""

    base: str
    schema: Json

    @property
    def id(self) -> str:
        """Its id."""
        return text(self.schema, "id")

    @property
    def name(self) -> str:
        """Its name."""
        return text(self.schema, "name") or self.id

    @property
    def fields(self) -> list[Json]:
        """Its fields, the primary one first."""
        primary = text(self.schema, "primaryFieldId")
        return sorted(objs(self.schema, "fields"), key=lambda one: text(one, "id") != primary)

    @property
    def primary(self) -> str:
        """The name of its primary field."""
        return text(self.fields[0], "name") if self.fields else ""

    def view(self, wanted: str) -> str:
        """The id of a view by id or name. Raises NotFoundError."""
        for one in objs(self.schema, "views"):
            if wanted in (text(one, "id"), text(one, "name")):
                return text(one, "id")
        names = ", ".join(text(one, "name") for one in objs(self.schema, "views"))
        raise NotFoundError(f"{self.name} has no view {wanted[:80]!r}.", f"Its views: {names}.")


class Api:
    """The connection of one source. Thread-safe."""

    def __init__(self, source: LibrarySource) -> None:
        settings = source.context.settings
        self.name, self.ref = source.name, source.ref
        self.bases, self.follow = listed(settings.get("bases")), listed(settings.get("follow"))
        headers = {"Authorization": f"Bearer {source.env('token')}"}
        self._web: Web = source.web(BASE, headers=headers, pace=_PACE, penalty=_PENALTY)
        self._clock = source.context.clock
        self._lock = threading.Lock()
        self._schemas: dict[str, tuple[int, list[Table]]] = {}

    def close(self) -> None:
        """Let go of connections."""
        self._web.close()

    def asked(self, method: str, path: str, body: Json | None = None, **query: str) -> Any:
        """The answer's JSON. Raises NotFoundError, SourceError."""
        try:
            return self._web.json(method, f"/v0{path}", body, query=query)
        except SourceError as error:
            if error.status in _GONE and not error.passing:
                hint = "Check the ref, and that the token has data.records:read, schema.bases:read and this base."
                raise NotFoundError(error.message, hint) from error
            raise

    def named_bases(self) -> dict[str, str]:
        """The names of the bases that are looked at, by id."""
        found: dict[str, str] = {}
        offset = ""
        for _ in range(_PAGES):
            answer: Any = self.asked("GET", "/meta/bases", None, **({"offset": offset} if offset else {}))
            found |= {text(one, "id"): text(one, "name") for one in objs(answer, "bases")}
            offset = text(answer, "offset")
            if not offset:
                break
        return {id_: name for id_, name in found.items() if not self.bases or id_ in self.bases}

    def tables(self, base: str) -> list[Table]:
        """The tables of a base. Raises UsageError for a base that is not looked at, NotFoundError."""
        if self.bases and base not in self.bases:
            raise UsageError(
                f"{base} is none of the bases that library.{self.name}.bases names.", "A person may add it there."
            )
        now = self._clock()
        with self._lock:
            kept = self._schemas.get(base)
        if kept is not None and 0 <= now - kept[0] < _KEPT:
            return kept[1]
        answer: Any = self.asked("GET", f"/meta/bases/{base}/tables")
        made = [Table(base, one) for one in objs(answer, "tables")]
        with self._lock:
            self._schemas[base] = (now, made)
        return made

    def table(self, base: str, wanted: str) -> Table:
        """A table by id or name. Raises NotFoundError."""
        tables = self.tables(base)
        for one in tables:
            if wanted in (one.id, one.name) or wanted.casefold() == one.name.casefold():
                return one
        names = ", ".join(one.name for one in tables)
        raise NotFoundError(f"{base} has no table {wanted[:80]!r}.", f"Its tables: {names}.")

    def records(
        self, table: Table, *, size: int, offset: str = "", view: str = "", formula: str = ""
    ) -> tuple[list[Json], str]:
        """Records of a table and the offset of those after them. Asked by POST, where a formula may be of any length.

        Raises NotFoundError, SourceError, and UsageError for a formula that Airtable refuses.
        """
        body: Json = {"pageSize": min(size, PAGE)}
        body |= {key: one for key, one in (("offset", offset), ("view", view), ("filterByFormula", formula)) if one}
        try:
            found: Any = self.asked("POST", f"/{table.base}/{table.id}/listRecords", body)
        except SourceError as error:
            if error.status == 422 and formula and not offset:
                raise UsageError(
                    f"Airtable refused the formula: {error.message}", "Field names stand in {braces}, texts in quotes."
                ) from error
            raise
        return objs(found, "records"), text(found, "offset")

    # --- refs and items

    def parsed(self, given: str) -> Place:
        """What a ref without the source, or an address, names. Raises UsageError."""
        rest = given.strip()
        if rest.startswith(("https://", "http://")):
            parts = urlsplit(rest)
            if not (parts.hostname or "").endswith("airtable.com"):
                raise UsageError(f"{rest[:200]} is no address of Airtable.", "Another source may read it.")
            rest = parts.path
        held = dict[str, str]()
        named = rest.strip("/").split("/")
        for at, part in enumerate(named):
            kind = part[:3] if _ID.fullmatch(part) else "tbl" if at == 1 and part else ""
            if not kind or kind in held or part in (".", ".."):
                raise self._unclear(given)
            held[kind] = part
        if "app" not in held or ("tbl" not in held and len(held) > 1):
            raise self._unclear(given)
        return Place(held["app"], held.get("tbl", ""), held.get("viw", ""), held.get("rec", ""))

    def _unclear(self, given: str) -> UsageError:
        return UsageError(
            f"{given[:120]!r} is no ref of {self.name}.",
            "Write appX, appX/tblY, appX/tblY/viwZ or appX/tblY/recZ, or the address of one of them.",
        )

    def item(self, table: Table, record: Json) -> Item:
        """A record of an answer."""
        id_ = text(record, "id")
        values = obj(record, "fields")
        said = {text(one, "name"): shown(values.get(text(one, "name")), one) for one in table.fields}
        title = said.pop(table.primary, "")
        when = changed(table, record)
        return Item(
            self.ref(f"{table.base}/{table.id}/{id_}"),
            title or id_,
            short("; ".join(f"{name}: {value}" for name, value in said.items() if value)),
            f"https://airtable.com/{table.base}/{table.id}/{id_}",
            when or digest(record),
            ms({"at": when}, "at") or ms(record, "createdTime"),
            kind="record",
            detail={"base": table.base, "table": table.name},
        )


def changed(table: Table, record: Json) -> str:
    """When the record was last changed, if the table has a field for that; else empty."""
    for one in table.fields:
        if text(one, "type") == "lastModifiedTime":
            return text(record, "fields", text(one, "name"))
    return ""


def digest(record: Json) -> str:
    """Twelve characters that change with the record's fields."""
    said = json.dumps(obj(record, "fields"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]


# --- values and formulas


def shown(value: object, field: Json | None = None) -> str:
    """A value of a field as a text; empty for none."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, str):
        return f"{_linked(field)}{value}" if value.startswith("rec") and _linked(field) else value
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return ", ".join(part for one in cast("list[object]", value) if (part := shown(one, field)))
    if isinstance(value, dict):
        held = cast("Json", value)
        keys = ("filename", "name", "email", "text", "label", "value", "error", "specialValue", "id")
        return next((str(held[key]) for key in keys if held.get(key) not in (None, "")), "")
    return ""


def _linked(field: Json | None) -> str:
    """What goes before the id of a linked record, so that it can be read."""
    table = text(field, "options", "linkedTableId")
    return f"{table}/" if table and text(field, "type") == "multipleRecordLinks" else ""


def quoted(value: str) -> str:
    """`value` as a text of a formula."""
    for plain, said in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        value = value.replace(plain, said)
    return f"'{value}'"


def named(field: str) -> str:
    """A field in a formula."""
    return "{" + field.replace("}", "\\}") + "}"
