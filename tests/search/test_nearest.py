"""The nearest vectors: as exact as a full comparison, and always those that the database holds now."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from vademecum.errors import UsageError
from vademecum.model import Actor, Origin
from vademecum.search import vectors as search
from vademecum.search.vectors import VectorIndex, to_blob, vector_index
from vademecum.sessions import History, NewMessage
from vademecum.store import Database, vectors

SIZE = 200  # no multiple of 64


def unit(matrix: np.ndarray) -> np.ndarray:
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def like_texts(count: int, seed: int = 1) -> np.ndarray:
    """Vectors in groups, as those of texts about a few hundred subjects lie."""
    subjects = np.random.default_rng(0).standard_normal((300, SIZE)) + 0.4
    rng = np.random.default_rng(seed)
    return unit(subjects[rng.integers(0, 300, count)] + 0.7 * rng.standard_normal((count, SIZE)))


def talk(db: Database, count: int, word: str = "text") -> tuple[int, list[int]]:
    """A session with that many messages: its number, and their ids."""
    before = db.one("SELECT coalesce(max(id), 0) FROM messages")
    history = History(db, Actor())
    session = history.open()
    history.record_many(session.id, [NewMessage("user", f"{word} {n}", Origin.user()) for n in range(count)])
    number = db.one("SELECT n FROM sessions WHERE id = ?", (session.id,))
    assert before is not None and number is not None
    return number[0], [row[0] for row in db.all("SELECT id FROM messages WHERE id > ? ORDER BY id", before)]


def embed(db: Database, given: dict[int, np.ndarray], name: str = "x") -> None:
    """Store vectors for messages by their ids."""
    space = vectors.claim(db, name, spec="local", dimensions=0, now=1)
    texts = [text for text in vectors.missing(db, 1_000_000) if text.ref in given]
    vectors.put_many(db, space, texts, [to_blob(given[text.ref]) for text in texts], dimensions=SIZE)


@pytest.fixture
def filled(db: Database) -> tuple[Database, np.ndarray, np.ndarray]:
    """9,000 messages with vectors, more than are compared one by one, and than a block holds."""
    _, refs = talk(db, 9_000)
    matrix = like_texts(9_000)
    embed(db, dict(zip(refs, matrix, strict=True)))
    return db, np.array(refs), matrix


def test_the_ten_nearest_are_those_of_a_full_comparison(filled: tuple[Database, np.ndarray, np.ndarray]) -> None:
    db, refs, matrix = filled
    index = VectorIndex(db, "message", "x")
    assert len(index) == 9_000
    same, queries = 0, like_texts(100, seed=2)
    for query in queries:
        found = index.nearest(query, 10)
        exact = refs[np.argsort(-(matrix @ query))[:10]]
        same += len({ref for ref, _ in found} & set(exact.tolist()))
        assert [cosine for _, cosine in found] == sorted((cosine for _, cosine in found), reverse=True)
        for ref, cosine in found:
            assert cosine == pytest.approx(float(matrix[ref - refs[0]] @ query), abs=2e-3)
    assert same >= 990


def test_only_allowed_sessions_are_looked_in(db: Database) -> None:
    vector = like_texts(1)[0]
    first, mine = talk(db, 2_200)
    second, theirs = talk(db, 2_200)
    third, few = talk(db, 5)
    matrix = like_texts(4_405, seed=3)
    embed(db, dict(zip([*mine, *theirs, *few], matrix, strict=True)))
    index = VectorIndex(db, "message", "x")
    assert {ref for ref, _ in index.nearest(vector, 50, allowed={first})} <= set(mine)
    assert {ref for ref, _ in index.nearest(vector, 50, allowed={second})} <= set(theirs)
    assert {ref for ref, _ in index.nearest(vector, 50, allowed={third})} == set(few)
    assert index.nearest(vector, 50, allowed=set()) == []
    assert index.nearest(vector, 50, allowed={99}) == []
    assert index.nearest(vector, 0) == []
    both = {ref for ref, _ in index.nearest(vector, 4_405, allowed={first, third})}
    assert both == {*mine, *few}


def test_new_changed_and_deleted_texts_of_another_connection_are_seen_at_once(db: Database) -> None:
    _, refs = talk(db, 20)
    matrix = like_texts(22)
    embed(db, dict(zip(refs, matrix, strict=False)))
    index, other = VectorIndex(db, "message", "x"), Database(db.path)
    assert index.nearest(matrix[3], 1)[0][0] == refs[3]
    _, (new,) = talk(other, 1, "new")
    assert len(index) == 20
    embed(other, {new: matrix[20]})
    assert index.nearest(matrix[20], 1)[0][0] == new
    other.execute("DELETE FROM messages WHERE id = ?", (refs[3],))
    assert index.nearest(matrix[3], 1)[0][0] != refs[3]
    assert index.vectors_of([refs[3], new]).keys() == {new}
    other.execute("UPDATE messages SET content = 'changed' WHERE id = ?", (refs[4],))
    assert refs[4] not in {ref for ref, _ in index.nearest(matrix[4], 30)}
    embed(other, {refs[4]: matrix[21]})
    found = index.nearest(matrix[21], 30)
    assert (found[0][0], len(found), len(index)) == (refs[4], 20, 20)
    other.close()


def test_a_text_that_is_embedded_again_is_found_once_by_its_new_vector(db: Database) -> None:
    _, (ref,) = talk(db, 1)
    old, new = like_texts(2)
    embed(db, {ref: old})
    index = VectorIndex(db, "message", "x")
    assert index.nearest(old, 5)[0] == (ref, pytest.approx(1, abs=1e-3))
    vectors.all_due(db)
    embed(db, {ref: new})
    ((found, cosine),) = index.nearest(new, 5)
    assert (found, cosine) == (ref, pytest.approx(1, abs=1e-3))
    assert np.allclose(index.vectors_of([ref])[ref], new, atol=1e-3)


def test_vectors_of_two_embedders_and_of_two_kinds_are_never_mixed(db: Database) -> None:
    _, (ref,) = talk(db, 1)
    old, new = like_texts(2)
    embed(db, {ref: old}, "old")
    embed(db, {ref: new}, "new")
    assert np.allclose(VectorIndex(db, "message", "old").vectors_of([ref])[ref], old, atol=1e-3)
    assert np.allclose(VectorIndex(db, "message", "new").vectors_of([ref])[ref], new, atol=1e-3)
    assert VectorIndex(db, "message", "unknown").nearest(old, 5) == []
    assert VectorIndex(db, "fact", "new").nearest(new, 5) == []


def test_a_query_of_another_length_is_refused(db: Database) -> None:
    _, (ref,) = talk(db, 1)
    embed(db, {ref: like_texts(1)[0]})
    with pytest.raises(UsageError, match="32 dimensions"):
        VectorIndex(db, "message", "x").nearest(np.ones(32, dtype=np.float32), 1)


def test_callers_share_one_index_until_the_embedder_changes(db: Database) -> None:
    first = vector_index(db, "message", "x")
    assert vector_index(db, "message", "x") is first
    assert vector_index(db, "fact", "x") is not first
    assert vector_index(db, "message", "y") is not first


def test_threads_may_search_while_vectors_come_in(db: Database) -> None:
    matrix = like_texts(600)
    index, stop, wrong = VectorIndex(db, "message", "x"), threading.Event(), list[object]()

    def look() -> None:
        while not stop.is_set():
            found = index.nearest(matrix[0], 5)
            wrong.extend(hit for hit in found if not -1.01 <= hit[1] <= 1.01)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    first: list[int] = []
    for start in range(0, 600, 100):
        _, refs = talk(db, 100, f"part {start}")
        first = first or refs
        embed(db, dict(zip(refs, matrix[start:], strict=False)))
    stop.set()
    for thread in threads:
        thread.join()
    assert (wrong, len(index), index.nearest(matrix[0], 1)[0][0]) == ([], 600, first[0])


def test_a_block_is_filled_to_its_last_place(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK", 8)
    _, refs = talk(db, 24)
    matrix = like_texts(24)
    index = VectorIndex(db, "message", "x")
    for start, end in ((0, 7), (7, 9), (9, 24)):
        embed(db, dict(zip(refs[start:end], matrix[start:end], strict=True)))
        assert len(index) == end
    assert [index.nearest(vector, 1)[0][0] for vector in matrix] == refs
