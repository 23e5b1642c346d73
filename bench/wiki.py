"""Indexing pages: `python bench/wiki.py [pages]`.

512 messy files (CJK names, CRLF, byte order marks, Latin-1, UTF-16, broken YAML, twins that differ in case, a log of
40,000 lines), and N pages of 10 KB with links (20,000: 200 MB). Printed: the first index, a refresh with nothing new
with and without a watch, what a change, a new file, a rename and a deletion take until the index has them, and whether
any file was changed. The baseline of each is reading the same bytes.
"""

from __future__ import annotations

import hashlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from vademecum.store.schema_cache import open_cache
from vademecum.wiki.graph import Graph
from vademecum.wiki.index import Index
from vademecum.wiki.types import Source


def vocabulary(rng: random.Random, size: int) -> list[str]:
    """Made-up words, as long as English ones."""
    parts = [first + vowel for first in "bdklmnr" for vowel in "aeiou"]
    return [
        "".join(rng.choices(parts, k=rng.choice((1, 2, 2, 3, 3, 4)))) + rng.choice("snrt ").strip() for _ in range(size)
    ]


class Writer:
    """Makes pages that read like some: usual words often, rare ones seldom, headings, lists, code, links, tags."""

    def __init__(self, seed: int, names: list[str]) -> None:
        self.rng = random.Random(seed)
        self.words = vocabulary(self.rng, 30_000)
        self.weights = [1 / (n + 3) for n in range(len(self.words))]
        self.names = names

    def sentence(self) -> str:
        words = self.rng.choices(self.words, self.weights, k=self.rng.randint(6, 18))
        if self.rng.random() < 0.2:
            words.append(f"[[{self.rng.choice(self.names)}]]")
        if self.rng.random() < 0.05:
            words.append(self.rng.choice(("node.js", "C++", "#tagged", "getUserName", "don't", "v1.2.3")))
        return " ".join(words).capitalize() + "."

    def page(self, size: int) -> str:
        parts = [
            f"---\ntags: [{self.rng.choice(self.words)}, {self.rng.choice(self.words)}]\n---\n# {self.sentence()}\n"
        ]
        length = 0
        while length < size:
            kind = self.rng.random()
            if kind < 0.15:
                part = f"\n## {' '.join(self.rng.choices(self.words, k=3))}\n"
            elif kind < 0.25:
                part = "\n".join(f"- {self.sentence()}" for _ in range(4)) + "\n"
            elif kind < 0.3:
                part = f"\n```python\n{self.sentence()}\n[[no link]]\n```\n"
            else:
                part = "\n" + " ".join(self.sentence() for _ in range(4)) + "\n"
            parts.append(part)
            length += len(part)
        return "".join(parts)


def messy(root: Path) -> None:
    """512 files."""
    names = [f"Note {n}" for n in range(400)]
    writer = Writer(1, names)
    rng = writer.rng
    for n in range(500):
        folder = root / rng.choice(("", "projects", "projects/deep", "日本語", "Reading List"))
        folder.mkdir(parents=True, exist_ok=True)
        text = writer.page(rng.choice((200, 1_000, 4_000, 12_000)))
        name, data = f"Note {n}.md", text.encode()
        match n % 10:
            case 1:
                data = text.replace("\n", "\r\n").encode()
            case 2:
                data = b"\xef\xbb\xbf" + data
            case 3:
                data = (text + "\nGrüße aus Köln\n").encode("latin-1")
            case 4:
                name, data = f"設計メモ {n}.md", (text + "\n検索の設計について。\n").encode()
            case 5:
                data = ("---\ntitle: [unclosed\nkey: : :\n---\n" + text).encode()
            case 6:
                data = text.encode("utf-16")
            case _:
                pass
        (folder / name).write_bytes(data)
    for n in range(5):
        (root / f"Twin{n}.md").write_text("one " + writer.page(500))
        (root / f"twin{n}.md").write_text("other " + writer.page(500))
    (root / "empty.md").write_bytes(b"")
    log = (f"- 2026-{1 + n % 12:02}-{1 + n % 28:02}T10:00:{n % 60:02}Z {writer.sentence()}" for n in range(40_000))
    (root / "log.md").write_text("# Log\n\n" + "\n".join(log) + "\n")


def many(root: Path, pages: int) -> None:
    """Pages of about 10 KB in folders of 100."""
    names = [f"Page {n}" for n in range(pages)]
    writer = Writer(2, names)
    blocks = [writer.page(2_000).split("---\n", 2)[2] for _ in range(4_000)]
    for n in range(pages):
        folder = root / f"folder {n // 100}"
        folder.mkdir(exist_ok=True)
        body = "\n".join(writer.rng.choices(blocks, k=5))
        (folder / f"Page {n}.md").write_text(f"# Page {n} {writer.rng.choice(writer.words)}\n\nunique{n}\n\n{body}")


def hashes(root: Path) -> dict[str, str]:
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*") if p.is_file()}


def timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def median_ms(act: Callable[[], object], times: int = 15) -> float:
    return 1000 * statistics.median(timed(act) for _ in range(times))


def changes(root: Path, index: Index) -> Iterator[tuple[str, float]]:
    """What one change of each kind takes until it is in the index, in ms."""
    first = next(path for path in sorted(root.rglob("*.md")) if path.stat().st_size > 500)
    told: dict[str, list[float]] = {"change": [], "create": [], "rename": [], "delete": []}
    for n in range(7):
        with first.open("ab") as stream:
            stream.write(f"\nchanged {n}\n".encode())
        told["change"].append(timed(lambda: _must(index.refresh().changed)))
        new = root / f"new page {n}.md"
        new.write_text(f"# New {n}\n\nfresh words {n}\n")
        told["create"].append(timed(lambda: _must(index.refresh().added)))
        new.rename(root / f"renamed {n}.md")
        told["rename"].append(timed(lambda: _must(index.refresh().renamed)))
        (root / f"renamed {n}.md").unlink()
        told["delete"].append(timed(lambda: _must(index.refresh().removed)))
    for name, times in told.items():
        yield name, 1000 * statistics.median(times)


def _must(found: object) -> None:
    assert found, "the change was not seen"


def measure(title: str, root: Path) -> None:
    size = sum(path.stat().st_size for path in root.rglob("*.md"))
    before = hashes(root)
    plain = timed(lambda: hashes(root))
    index = Index(open_cache(root.parent / "cache.db"), [Source("bench", root)])
    used = time.process_time()
    first = timed(index.refresh)
    used = time.process_time() - used
    pages = len(index.pages())
    print(f"\n{title}: {pages:,} pages, {size / 1e6:.1f} MB")
    beside = f"{used:.2f} s of a processor; reading and hashing the same files: {plain:.2f} s"
    print(f"  first index          {first:8.2f} s    ({beside})")
    database = (root.parent / "cache.db").stat().st_size
    print(f"  database             {database / 1e6:8.1f} MB")
    after = hashes(root)
    print(f"  files changed by it  {sum(one != after[path] for path, one in before.items()):8}")
    print(f"  refresh, nothing new {median_ms(index.refresh):8.2f} ms   (every file looked at)")
    for name, took in changes(root, index):
        print(f"  {name:<20} {took:8.2f} ms")
    if index.watch():
        index.refresh()
        print(f"  watched, nothing new {median_ms(index.refresh):8.2f} ms")
        for name, took in changes(root, index):
            print(f"  watched, {name:<11} {took:8.2f} ms")
    graph = timed(lambda: Graph(index).links())
    print(f"  all links            {1000 * graph:8.2f} ms   ({len(Graph(index).links()):,} of them)")
    log = root / "log.md"
    if log.exists():

        def append() -> None:
            with log.open("a") as stream:
                stream.write("- 2026-12-01T10:00:00Z one more\n")
            _must(index.refresh().changed)

        print(f"  append to the log    {median_ms(append, 3):8.2f} ms   ({log.stat().st_size / 1e6:.1f} MB)")
    print(f"  memory, at most      {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB")
    index.close()


def commands(root: Path, home: Path) -> None:
    """A search from the command line, as a whole process, over pages that are indexed already."""
    words = [str(Path(sys.executable).with_name("vademecum")), "--home", str(home)]
    run = partial(subprocess.run, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
    run([*words, "init"])
    with (home / "config.yaml").open("a") as config:
        config.write(f"wiki:\n  sources:\n    - path: {root}\n")
    search = [*words, "wiki", "search", "note of the second meeting"]
    run(search)
    print(f"  search as a process {median_ms(lambda: run(search)):>9.2f} ms   "
          f"(--version: {median_ms(lambda: run([*words, '--version'])):.2f} ms)")  # fmt: skip


def main() -> None:
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    for title, fill in (("messy", messy), (f"{pages:,} pages", lambda root: many(root, pages))):
        place = Path(tempfile.mkdtemp(prefix="vademecum-wiki-"))
        try:
            root = place / "pages"
            root.mkdir()
            fill(root)
            measure(title, root)
            commands(root, place / "home")
        finally:
            shutil.rmtree(place)


if __name__ == "__main__":
    main()
