"""A small real HTTP server that speaks Airtable's Web API: bases, their schema, and records with filters and views.

Idea: tables and records are kept as they come; a list goes on by an offset that is forgotten after a while, a filter is
evaluated. Invariant: what it answers can be read by pyairtable, whose models judge the schema; who asks too fast, with
a wrong formula or for what the token may not see, gets the error of the real service.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from servers.formulas import FormulaError, Row, holds
from servers.rest import Fault, Request, Rest

TOKEN = "pat0123456789ABCD." + "0123456789abcdef" * 4
START = "2026-05-01T10:00:00.000Z"
Json = dict[str, Any]
_OPTIONS: dict[str, Json] = {
    "singleSelect": {"choices": [{"id": "sel1", "name": "Open", "color": "redLight2"}]},
    "multipleSelects": {"choices": [{"id": "sel1", "name": "Heat", "color": "redLight2"}]},
    "number": {"precision": 1},
    "checkbox": {"icon": "check", "color": "greenBright"},
    "date": {"dateFormat": {"name": "iso", "format": "YYYY-MM-DD"}},
    "multipleAttachments": {"isReversed": False},
    "multipleRecordLinks": {"isReversed": False, "prefersSingleRecordLink": False, "linkedTableId": "tblOther"},
    "lastModifiedTime": {
        "isValid": True, "referencedFieldIds": [],
        "result": {"type": "dateTime", "options": {
            "dateFormat": {"name": "iso", "format": "YYYY-MM-DD"}, "timeZone": "utc",
            "timeFormat": {"name": "24hour", "format": "HH:mm"},
        }},
    },
    "formula": {"isValid": True, "formula": "1", "referencedFieldIds": [], "result": {"type": "singleLineText"}},
}  # fmt: skip


@dataclass
class Table:
    """A table: its fields by name with their types, its views with the records that they show (None: all)."""

    id: str
    name: str
    fields: dict[str, str]
    primary: str
    views: dict[str, list[str] | None] = field(default_factory=dict[str, list[str] | None])
    records: dict[str, Json] = field(default_factory=dict[str, Json])
    modified: dict[str, str | None] = field(default_factory=dict[str, str | None])
    links: str = "tblOther"


class AirtableServer(Rest):
    """`forgotten`: offsets are known no more. `schema` False: the token may not read the schema."""

    def __init__(self, *, token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.bases: dict[str, tuple[str, dict[str, Table]]] = {}
        self.forgotten, self.schema = False, True
        self.per_page = 1000
        self._made = 0

    # --- what tests put in

    def base(self, name: str) -> str:
        id_ = self._id("app")
        self.bases[id_] = (name, {})
        return id_

    def table(self, base: str, name: str, fields: dict[str, str], **more: Any) -> Table:
        """`fields`: type by name; the first is the primary one."""
        made = Table(self._id("tbl"), name, fields, next(iter(fields)), **more)
        made.views.setdefault("All", None)
        self.bases[base][1][made.id] = made
        return made

    def record(self, table: Table, *, at: str = START, **fields: Any) -> str:
        id_ = self._id("rec")
        held = {name.replace("_", " "): value for name, value in fields.items()}
        table.records[id_] = {"id": id_, "createdTime": at, "fields": held}
        table.modified[id_] = None
        return id_

    def change(self, table: Table, record: str, at: str, **fields: Any) -> None:
        table.records[record]["fields"].update(fields)
        table.modified[record] = at
        for name, kind in table.fields.items():
            if kind == "lastModifiedTime":
                table.records[record]["fields"][name] = at

    def limited(self) -> Fault:
        """The answer to a client that asks too fast, which names no time."""
        words = "You have exceeded the number of requests per second; wait 30 seconds."
        return Fault(429, json.dumps({"errors": [{"error": "RATE_LIMIT_REACHED", "message": words}]}).encode())

    def _id(self, kind: str) -> str:
        self._made += 1
        return kind + hashlib.sha256(f"{kind}{self._made}".encode()).hexdigest()[:14]

    # --- answers

    def answer(self, request: Request) -> tuple[int, Any] | Fault:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _error(401, "AUTHENTICATION_REQUIRED", "Authentication required")
        parts = [unquote(one) for one in request.path.strip("/").split("/")]
        match request.method, parts:
            case "GET", ["v0", "meta", "bases"]:
                return self._bases(request)
            case "GET", ["v0", "meta", "bases", base, "tables"] if base in self.bases and self.schema:
                return 200, {"tables": [_schema(one) for one in self.bases[base][1].values()]}
            case "GET", ["v0", base, table] if found := self._table(base, table):
                return self._records(found, request.query)
            case "POST", ["v0", base, table, "listRecords"] if found := self._table(base, table):
                return self._records(found, request.body or {})
            case "GET", ["v0", base, table, record] if found := self._table(base, table):
                if record in found.records:
                    return 200, found.records[record]
                return 404, {"error": "NOT_FOUND"}
            case "GET" | "POST", ["v0", *_]:
                words = "Invalid permissions, or the requested model was not found. Check that both your user and your"
                return _error(403, "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND", f"{words} token have the permissions.")
            case _:
                return 404, {"error": "NOT_FOUND"}

    def _bases(self, request: Request) -> tuple[int, Any]:
        shown = [
            {"id": id_, "name": name, "permissionLevel": "read"} for id_, (name, _) in self.bases.items()
        ]  # fmt: skip
        at = int(request.query.get("offset", "itr0")[3:])
        made: Json = {"bases": shown[at : at + self.per_page]}
        if at + self.per_page < len(shown):
            made["offset"] = f"itr{at + self.per_page}"
        return 200, made

    def _table(self, base: str, table: str) -> Table | None:
        held = self.bases[base][1] if base in self.bases else {}
        return held.get(table) or next((one for one in held.values() if one.name == table), None)

    def _records(self, table: Table, asked: Any) -> tuple[int, Any]:
        odd = set(asked) - {
            "pageSize",
            "offset",
            "filterByFormula",
            "view",
            "maxRecords",
            "fields",
            "sort",
            "cellFormat",
        }
        size, at = int(asked.get("pageSize", 100)), 0
        if odd or not 1 <= size <= 100:
            return _error(422, "INVALID_REQUEST_UNKNOWN", "Invalid request: parameter validation failed.")
        rows = list(table.records.values())
        if view := asked.get("view"):
            if view not in table.views and view not in {_view(table, name) for name in table.views}:
                return _error(422, "VIEW_NAME_NOT_FOUND", f"View {view} not found")
            name = next(one for one in table.views if view in (one, _view(table, one)))
            rows = [one for one in rows if table.views[name] is None or one["id"] in (table.views[name] or [])]
        if formula := asked.get("filterByFormula"):
            try:
                rows = [one for one in rows if holds(formula, _row(table, one))]
            except FormulaError as error:
                return _error(
                    422, "INVALID_FILTER_BY_FORMULA", f"The formula for filtering records is invalid: {error}"
                )
        if offset := asked.get("offset"):
            if self.forgotten:
                return 422, {"error": {"type": "LIST_RECORDS_ITERATOR_NOT_AVAILABLE"}}
            number, _, after = offset.removeprefix("itr").partition("/")
            at = int(number)
            assert after == rows[at]["id"], "the list has changed; the real service keeps a snapshot"
        rows = rows[: int(asked["maxRecords"])] if asked.get("maxRecords") else rows
        made: Json = {"records": rows[at : at + size]}
        if at + size < len(rows):
            made["offset"] = f"itr{at + size}/{rows[at + size]['id']}"
        return 200, made


# --- small things


def _error(status: int, kind: str, message: str) -> tuple[int, Json]:
    return status, {"error": {"type": kind, "message": message}}


def _row(table: Table, one: Json) -> Row:
    modified = table.modified[one["id"]]
    return Row(
        one["fields"],
        frozenset(table.fields),
        datetime.fromisoformat(one["createdTime"]).astimezone(UTC),
        datetime.fromisoformat(modified).astimezone(UTC) if modified else None,
    )


def _view(table: Table, name: str) -> str:
    return "viw" + hashlib.sha256(f"{table.id}{name}".encode()).hexdigest()[:14]


def _schema(table: Table) -> Json:
    fields: list[Json] = []
    for number, (name, kind) in enumerate(table.fields.items()):
        one: Json = {"id": _field(table, number), "name": name, "type": kind}
        if kind in _OPTIONS:
            one["options"] = _OPTIONS[kind] | ({"linkedTableId": table.links} if kind == "multipleRecordLinks" else {})
        fields.append(one)
    return {
        "id": table.id, "name": table.name, "primaryFieldId": _field(table, 0), "fields": fields,
        "views": [{"id": _view(table, name), "name": name, "type": "grid"} for name in table.views],
    }  # fmt: skip


def _field(table: Table, number: int) -> str:
    return "fld" + hashlib.sha256(f"{table.id}{number}".encode()).hexdigest()[:14]


view_id = _view
