"""How long documents take to become Markdown, and a folder of them to be indexed and searched.

    python bench/documents.py [REPEATS]

Documents are made by python-docx, python-pptx, openpyxl and pypdf. Times are of the CPU, child processes included, so
that a busy machine does not count; searches are in wall-clock time. When markitdown is installed it reads the same.
"""

from __future__ import annotations

import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vademecum.library.documents import convert

LINE = "The quick brown fox of section {} jumps over the lazy dog and says number {}."


def words(number: int, lines: int) -> list[str]:
    return [LINE.format(number, line) for line in range(lines)]


def pdf(pages: int) -> bytes:
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer: Any = PdfWriter()
    kind = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in kind.items()})
    for number in range(pages):
        page = writer.add_blank_page(612, 792)
        fonts = DictionaryObject({NameObject("/F"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        shown = " ".join(f"({line}) Tj T*" for line in words(number, 45))
        stream.set_data(f"BT /F 10 Tf 40 750 Td 14 TL {shown} ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx(pages: int) -> bytes:
    from docx import Document

    document = Document()
    for number in range(pages):
        document.add_heading(f"Section {number}", 1)
        for line in words(number, 20):
            document.add_paragraph(line)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def pptx(slides: int) -> bytes:
    from pptx import Presentation

    deck: Any = Presentation()
    for number in range(slides):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Slide about {number}"
        slide.placeholders[1].text = "\n".join(words(number, 6))
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def xlsx(rows: int) -> bytes:
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Costs")
    for number in range(rows):
        sheet.append([number, f"item {number}", number * 1.5, "open", f"note {number % 97}"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def html(sections: int) -> bytes:
    parts = (f"<h2>Part {n}</h2>" + "".join(f"<p>{line}</p>" for line in words(n, 20)) for n in range(sections))
    return f"<html><title>Page</title><body>{''.join(parts)}</body></html>".encode()


def median(act: Callable[[], object], repeats: int) -> float:
    return statistics.median(cpu(act) for _ in range(repeats))


def cpu(act: Callable[[], object]) -> float:
    start = sum(os.times()[:4])
    act()
    return sum(os.times()[:4]) - start


def wall(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def other() -> Callable[[bytes, str], str] | None:
    try:
        from markitdown import MarkItDown
    except ImportError:
        return None
    reader: Any = MarkItDown()
    return lambda data, name: reader.convert_stream(io.BytesIO(data), file_extension=Path(name).suffix).text_content


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    samples = {
        "one page.pdf": pdf(1), "10 pages.pdf": pdf(10), "100 pages.pdf": pdf(100), "1000 pages.pdf": pdf(1000),
        "100 sections.docx": docx(100),
        "50 slides.pptx": pptx(50), "10000 rows.xlsx": xlsx(10_000), "small.html": html(10), "large.html": html(400),
    }  # fmt: skip
    reader = other()
    for name, data in samples.items():
        mine = median(lambda: convert(data, name), repeats)  # noqa: B023  called at once
        line = (
            f"{name:18} {len(data) / 1000:8,.0f} kB  {mine * 1000:8,.0f} ms  {len(convert(data, name).text):9,} chars"
        )
        if reader is not None and name != "1000 pages.pdf":  # that takes minutes
            theirs = median(lambda: reader(data, name), repeats)  # noqa: B023
            line += f"   markitdown {theirs * 1000:8,.0f} ms  {len(reader(data, name)):9,} chars"
        print(line, flush=True)
    folder(samples, repeats)


def folder(samples: dict[str, bytes], repeats: int) -> None:
    from vademecum.library.library import Library
    from vademecum.store.schema_cache import open_cache

    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "docs")
        root.mkdir()
        for copy in range(10):
            for name in ("one page.pdf", "50 slides.pptx", "small.html"):
                (root / f"{copy} {name}").write_bytes(samples[name])
            (root / f"{copy} notes.md").write_text("\n\n".join(words(copy, 40)))
        db = open_cache(Path(place, "cache.db"))
        library = Library(
            {"files": {"path": str(root)}},
            env={},
            folder=root,
            db=lambda: db,
            clean=str,
            clock=lambda: 1_780_000_000_000,
        )
        first = median(lambda: library.changes("files"), 1)
        warm = statistics.median(
            wall(lambda: library.search("files", "lazy dog number 17")) for _ in range(repeats * 5)
        )
        print(f"a folder of 40 documents: first look {first:.2f} s, a search {warm * 1000:.1f} ms")


if __name__ == "__main__":
    main()
