"""PDF, page by page, with PDFium.

Idea: text in the order in which the page draws it; a page without any is counted, since it is mostly a scan. Invariant:
no script, attachment or address of the file is looked at. Text that is drawn invisibly is kept: scanners put what they
have recognised there.
"""

from __future__ import annotations

from typing import Any

from vademecum.errors import UnreadableError
from vademecum.library.documents.types import Gathering, quiet

NEEDED = "pip install 'vademecum[documents]'"
_WRONG_PASSWORD = 4


def read(data: bytes, into: Gathering) -> None:
    """Raises UnreadableError: encrypted, damaged, or PDFium is not installed."""
    try:
        import pypdfium2
    except ImportError as error:
        raise UnreadableError("PDF needs PDFium, which is not installed.", NEEDED) from error
    found: Any = pypdfium2
    try:
        document = found.PdfDocument(data)
    except found.PdfiumError as error:
        if getattr(error, "err_code", None) == _WRONG_PASSWORD or "password" in str(error).lower():
            raise UnreadableError("It is encrypted; a password is needed.", "Save it without a password.") from error
        raise UnreadableError(f"It is cut off or no PDF at all ({error}).") from error
    facts = document.get_metadata_dict(skip_empty=True)
    into.title = " ".join(str(facts.get("Title", "")).split())
    into.authors = tuple(one for one in [" ".join(str(facts.get("Author", "")).split())] if one)
    count = len(document)
    empty: list[int] = []
    broken: list[int] = []
    for index in range(count):
        if not into.room(done=index, of=count, what="pages"):
            break
        try:
            text = _text(document, index)
        except found.PdfiumError:
            broken.append(index + 1)
            continue
        if not text.strip():
            empty.append(index + 1)
        into.add(f"Page {index + 1}", text)
    if empty:
        into.problem(f"{_pages(empty)} no text (a scan, or pictures only).")
    if broken:
        into.problem(f"{_pages(broken, 'cannot', 'cannot')} be read.")


def _text(document: Any, index: int) -> str:
    page = document[index]
    try:
        words = page.get_textpage()
        try:
            text: str = words.get_text_bounded()
        finally:
            words.close()
    finally:
        page.close()
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "").replace("\x00", "")
    return quiet("\n".join(line.rstrip() for line in text.split("\n")))


def _pages(numbers: list[int], one: str = "holds", several: str = "hold") -> str:
    if len(numbers) == 1:
        return f"Page {numbers[0]:,} {one}"
    shown = ", ".join(f"{number:,}" for number in numbers[:10])
    return f"{len(numbers):,} pages ({shown}{', ...' if len(numbers) > 10 else ''}) {several}"
