"""The store of files at RetainDB: upload, list, read, have memories made from them, delete.

Idea: each agent and user has a folder of its own there. Invariant: only files of the folder that a person allowed are
uploaded, without secrets; a file outside of one's own folder is not listed, read or deleted.
"""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from vademecum.errors import ProviderError
from vademecum.providers.http import Http, fields, schema_error

LARGEST = 8_000_000
"""Most bytes of a file that is uploaded."""
_LONGEST = 12_000  # characters of a file that are read
_VENDOR = "RetainDB"


class Files:
    """The files below `folder`, which begins and ends with `/`; uploads come from `source`, if anything may be."""

    def __init__(self, http: Http, *, project: str, user: str, folder: str, source: Path | None) -> None:
        self._http = http
        self._project, self._user = project, user
        self._folder, self._source = folder, source

    def upload(self, local: str, remote: str, scope: str) -> dict[str, Any]:
        """Upload a file. Raises ProviderError for one that is not allowed, too large, or holds a secret."""
        name, content = self._content(local)
        path = self._folder + self._below(remote or name)
        form = {"path": path, "scope": scope, "project": self._project, "user_id": self._user}
        parts = {key: ("", value.encode(), "text/plain") for key, value in form.items()}
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        reply = self._http.send("POST", "/v1/files", files={**parts, "file": (name, content, kind)})
        return self._shown(_file(_json(reply.body)))

    def _content(self, local: str) -> tuple[str, bytes]:
        if self._source is None:
            raise ProviderError(
                "No file may be uploaded; nothing was sent.",
                "A person may allow a folder: providers.retaindb.files_from in config.yaml.",
            )
        path = (self._source / Path(local).expanduser()).resolve()
        if not path.is_relative_to(self._source) or not path.is_file():
            raise ProviderError(f"There is no such file in {self._source}; nothing was sent.", status=404)
        try:
            if path.stat().st_size > LARGEST:
                raise ProviderError(f"{path.name} has more than {LARGEST:,} bytes; nothing was sent.")
            content = path.read_bytes()
        except OSError as error:
            raise ProviderError(f"{path.name} cannot be read: {error.strerror}; nothing was sent.") from error
        from vademecum.gate.secrets import redact  # reads the rules

        text = content.decode("utf-8", "replace")
        if redact(text, b"only looked at")[0] != text:
            raise ProviderError(f"{path.name} holds a secret; nothing was sent.", "Take it out first.")
        return path.name, content

    def _below(self, path: str) -> str:
        parts = [part for part in path.replace("\\", "/").split("/") if part]
        if not parts or any(part in (".", "..") for part in parts):
            raise ProviderError(f"{path!r} is no path; nothing was done.")
        return "/".join(parts)

    def list(self, prefix: str, limit: int) -> list[dict[str, Any]]:
        """The files of one's own folder whose paths begin with `prefix`."""
        path = self._folder + prefix.lstrip("/")
        query: dict[str, str | int] = {"prefix": path, "limit": limit, "project": self._project}
        found = fields(_VENDOR, self._http.json("GET", "/v1/files", query=query), "files")["files"]
        if not isinstance(found, list):
            raise schema_error(_VENDOR, "with files in another form")
        held = [_file(one) for one in cast("list[object]", found)]
        return [self._shown(one) for one in held if str(one["path"]).startswith(path)]

    def read(self, file: str) -> dict[str, Any]:
        """The text of a file, its first part if it is long."""
        held = self._own(file)
        content = self._http.send("GET", f"/v1/files/{_quoted(file)}/content").body
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return {**held, "content": None, "note": "This is no text; retaindb_ingest_file makes memories from it."}
        return {**held, "content": text[:_LONGEST], "cut": len(text) > _LONGEST}

    def ingest(self, file: str) -> dict[str, Any]:
        """Have memories made from a file."""
        held = self._own(file)
        body = {"user_id": self._user, "project": self._project}
        answer = self._http.json("POST", f"/v1/files/{_quoted(file)}/ingest", body)
        said = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        return {**held, "outcome": "accepted", "job_id": said.get("job_id")}

    def delete(self, file: str) -> dict[str, Any]:
        """Delete a file."""
        held = self._own(file)
        self._http.send("DELETE", f"/v1/files/{_quoted(file)}", expected=(404,))
        return {**held, "outcome": "deleted"}

    def _own(self, file: str) -> dict[str, Any]:
        reply = self._http.send("GET", f"/v1/files/{_quoted(file)}", expected=(400, 404))
        held = _file(_json(reply.body)) if reply.status < 400 else None
        if held is None or not str(held["path"]).startswith(self._folder):
            raise ProviderError(
                f"There is no file {file!r}; nothing was done.", "retaindb_list_files gives ids.", status=404
            )
        return self._shown(held)

    def _shown(self, file: dict[str, Any]) -> dict[str, Any]:
        path = str(file["path"]).removeprefix(self._folder)
        return {"file_id": str(file["id"]), "path": path, "size": file.get("size")}


def _file(answer: object) -> dict[str, Any]:
    data = fields(_VENDOR, answer)
    inner: Any = data.get("file")
    held = cast("dict[str, Any]", inner) if isinstance(inner, dict) else data
    return fields(_VENDOR, held, "id", "path")


def _json(body: bytes) -> object:
    import json

    try:
        return json.loads(body)
    except ValueError as error:
        raise ProviderError("RetainDB answered with something that is not JSON.", passing=True) from error


def _quoted(text: str) -> str:
    return quote(text, safe="")
