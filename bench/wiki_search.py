"""How well pages are found: `python bench/wiki_search.py [--sdist Django-5.2.tar.gz] [--no-vectors] [--misses]`.

The documentation inside Django's source distribution (620 pages), which pip downloads unless a file is given, and the
questions of wiki_questions.py. Success@5: a page that answers is among the first five. Baseline in the same run: the
full-text index alone, all words joined by OR, ordered by bm25. Then what an answer costs, and of how many questions
that nothing answers something was answered; for each half of the questions too, since the floors were chosen by looking
at all of them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from vademecum.models.embedder import Embedder, open_embedder
from vademecum.search.query import read
from vademecum.search.vectors import to_blob, vector_index
from vademecum.store import vectors
from vademecum.store.schema_cache import open_cache
from vademecum.store.wiki_search import WikiText, Within
from vademecum.wiki.index import Index
from vademecum.wiki.search import Finder
from vademecum.wiki.types import Source
from wiki_questions import NONE, OTHER, SAME

PACKAGE = "django==5.2"
Ask = Callable[[str], list[str]]


def docs(sdist: Path | None, into: Path) -> Path:
    """The folder of the documentation, unpacked below `into`."""
    if sdist is None:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps", PACKAGE]
        subprocess.run([*command, "-d", str(into)], check=True)
        sdist = next(into.glob("*.tar.gz"))
    with tarfile.open(sdist) as archive:
        archive.extractall(into, filter="data")
    return next(path for path in into.glob("*/docs") if path.is_dir())


def embed(index: Index, embedder: Embedder) -> float:
    """Give every passage its vector; the seconds it took."""
    began, db = time.perf_counter(), index.db
    space = vectors.claim(db, embedder.name, spec=embedder.spec, dimensions=embedder.dimensions, now=1)
    while due := vectors.missing(db, 64):
        said = {section.id: (section, text) for section, text in index.passages([one.ref for one in due])}
        heads = index.heads({section.page for section, _ in said.values()})
        made = []
        for one in due:
            section, text = said[one.ref]
            made.append(replace(one, text=f"{heads[section.page].title}\n{' > '.join(section.headings)}\n{text}"))
        blobs = [to_blob(row) for row in embedder.embed([one.text for one in made])]
        vectors.put_many(db, space, made, blobs, dimensions=embedder.dimensions)
    vectors.complete(db, space, 2)
    return time.perf_counter() - began


def first_pages(index: Index, numbers: Sequence[int]) -> list[str]:
    sections = index.sections(numbers)
    heads = index.heads({one.page for one in sections})
    return list(dict.fromkeys(heads[one.page].path.removesuffix(".txt") for one in sections))


def baseline(index: Index) -> Ask:
    text = WikiText(index.db, Within())

    def ask(question: str) -> list[str]:
        asked = read(question)
        return first_pages(index, text.best(" OR ".join(term.match for term in asked.content or asked.terms), 60))

    return ask


def by_vectors(index: Index, embedder: Embedder) -> Ask:
    near = vector_index(index.db, "page", embedder.name)

    def ask(question: str) -> list[str]:
        return first_pages(index, [n for n, _ in near.nearest(embedder.embed([question])[0], 60)])

    return ask


def ours(index: Index, embedder: Embedder | None) -> Ask:
    def ask(question: str) -> list[str]:
        index.refresh()
        found = Finder(index, Within(), embedder).find(question, 10)
        return list(dict.fromkeys(one.page.path.removesuffix(".txt") for one in found))

    return ask


def row(name: str, ask: Ask, *, misses: bool) -> None:
    times: list[float] = []
    hits: dict[str, list[bool]] = {"same": [], "other": []}
    for kind, questions in (("same", SAME), ("other", OTHER)):
        for question, answers in questions:
            began = time.perf_counter()
            pages = ask(question)
            times.append((time.perf_counter() - began) * 1000)
            hits[kind].append(any(page in pages[:5] for page in answers))
            if misses and not hits[kind][-1]:
                print(f"   missed: {question}: {', '.join(pages[:3]) or 'nothing'}")
    every = [*hits["same"], *hits["other"]]
    answered = sum(bool(ask(question)) for question in NONE)
    halves = [f"{sum(every[start::2]) / len(every[start::2]):.0%}" for start in (0, 1)]
    p95 = sorted(times)[int(len(times) * 0.95)]
    shares = f"{sum(hits['same'])}/{len(SAME)}  {sum(hits['other'])}/{len(OTHER)}  {sum(every) / len(every):>5.0%}"
    spent = f"{statistics.median(times):>7.1f} {p95:>7.1f}"
    print(f"{name:<34} {shares}  ({' / '.join(halves)})  {answered:>2}/{len(NONE)}  {spent}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sdist", type=Path)
    parser.add_argument("--no-vectors", action="store_true")
    parser.add_argument("--misses", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = docs(args.sdist, Path(folder))
        index = Index(open_cache(Path(folder) / "cache.db"), [Source("docs", root, suffixes=frozenset({".txt"}))])
        began = time.perf_counter()
        added = index.refresh().added
        print(f"{len(added)} pages indexed in {time.perf_counter() - began:.1f} s")
        embedder = None if args.no_vectors else open_embedder("local", env={})
        if embedder is not None:
            print(f"{WikiText(index.db, Within()).size} passages embedded in {embed(index, embedder):.0f} s")
        print(f"\n{'success@5':<34} same   other   all  (halves)     none       p50     p95 ms")
        row("baseline: bm25, all words by OR", baseline(index), misses=False)
        row("full text", ours(index, None), misses=args.misses)
        if embedder is not None:
            row("vectors alone", by_vectors(index, embedder), misses=False)
            row("both", ours(index, embedder), misses=args.misses)


if __name__ == "__main__":
    main()
