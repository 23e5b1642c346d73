"""Documents that were made to do harm, or are broken: bounded, refused with the reason, and never followed outside."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import papers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.errors import UnreadableError
from vademecum.library.documents import Limits, convert

MAKERS = {"a.docx": papers.docx, "a.pptx": papers.pptx, "a.xlsx": papers.xlsx}
MAIN = {"a.docx": "word/document.xml", "a.pptx": "ppt/presentation.xml", "a.xlsx": "xl/workbook.xml"}
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize("name", MAKERS)
def test_an_archive_that_grows_beyond_measure_is_refused_before_it_is_read(name: str):
    bomb = papers.changed(MAKERS[name](), {MAIN[name]: b"<x>" + b" " * 12_000_000})
    with pytest.raises(UnreadableError, match="made to do harm"):
        convert(bomb, name)


def test_an_archive_with_too_many_files_is_refused():
    many = papers.zipped({f"{number}": "" for number in range(40)})
    with pytest.raises(UnreadableError, match="40 files; 30 are the limit"):
        convert(many, "a.epub", limits=Limits(entries=30))


def test_an_archive_that_lies_about_its_sizes_is_refused():
    data = bytearray(papers.zipped({"META-INF/container.xml": b"<a/>" + b" " * 100_000}))
    where = data.rindex(b"PK\x01\x02")
    data[where + 24 : where + 28] = (4).to_bytes(4, "little")
    with pytest.raises(UnreadableError, match="damaged"):
        convert(bytes(data), "a.epub")


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_that_multiply_are_refused(name: str, encoding: str):
    with pytest.raises(UnreadableError, match="document type"):
        convert(papers.changed(MAKERS[name](), {MAIN[name]: LAUGHS.encode(encoding)}), name)


@pytest.mark.parametrize("name", MAKERS)
def test_entities_from_outside_are_refused(name: str, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("opensesame")
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]><x>&e;</x>'
    with pytest.raises(UnreadableError, match="document type") as caught:
        convert(papers.changed(MAKERS[name](), {MAIN[name]: entity}), name)
    assert "opensesame" not in caught.value.message


def test_entities_of_a_book_are_refused_in_its_package_and_stay_text_in_its_chapters():
    with pytest.raises(UnreadableError, match="document type"):
        convert(papers.changed(papers.epub({"a": "x"}), {"OEBPS/book.opf": LAUGHS}), "a.epub")
    book = papers.epub({"a.xhtml": '<!DOCTYPE x [<!ENTITY a "ha">]><p>&a; &amp; b</p>'})
    assert "&a; & b" in convert(book, "a.epub").text


def test_a_name_in_an_archive_never_leaves_it(tmp_path: Path):
    outside = tmp_path / "chapter.xhtml"
    outside.write_text("<p>outside</p>")
    for href in (
        "../../../../../../" + str(tmp_path).lstrip("/") + "/",
        str(tmp_path) + "/",
        outside.parent.as_uri() + "/",
    ):
        with pytest.raises(UnreadableError, match="lacks its part"):
            convert(papers.epub({"chapter.xhtml": "<p>inside</p>"}, href=href), "a.epub")


def test_a_book_under_rights_management_says_so():
    locked = '<encryption><EncryptedData><EncryptionMethod Algorithm="aes"/></EncryptedData></encryption>'
    with pytest.raises(UnreadableError, match="rights management"):
        convert(papers.epub({"a": "x"}, extra={"META-INF/encryption.xml": locked}), "a.epub")


def test_an_encrypted_pdf_says_so():
    with pytest.raises(UnreadableError, match="encrypted") as caught:
        convert(papers.locked_pdf(), "plan.pdf")
    assert caught.value.message.startswith("plan.pdf: ")


def test_an_archive_with_a_password_says_so():
    data = bytearray(papers.docx())
    for where in range(len(data) - 4):
        if data[where : where + 4] == b"PK\x01\x02":
            data[where + 8] |= 1
    with pytest.raises(UnreadableError, match="encrypted"):
        convert(bytes(data), "a.docx")


@pytest.mark.parametrize("name", [*MAKERS, "a.epub", "a.pdf"])
@pytest.mark.parametrize("share", [0.1, 0.6, 0.98])
def test_a_file_that_is_cut_off_is_refused_or_read_as_far_as_it_goes(name: str, share: float):
    whole = {**MAKERS, "a.epub": lambda: papers.epub({"a": "x" * 99}), "a.pdf": lambda: papers.pdf(["x"] * 9)}[name]()
    try:
        assert convert(whole[: int(len(whole) * share)], name).kind == name[2:]
    except UnreadableError as error:
        assert name in error.message


@settings(max_examples=8, deadline=None)
@given(where=st.lists(st.floats(0, 0.999), min_size=1, max_size=40), data=st.data())
def test_bytes_that_were_turned_over_never_raise_anything_else(where: list[float], data: st.DataObject):
    name = data.draw(st.sampled_from([*MAKERS, "a.pdf"]))
    broken = bytearray(papers.pdf(["some words"] * 3) if name == "a.pdf" else MAKERS[name]())
    for one in where:
        broken[int(one * len(broken))] ^= 0xFF
    try:
        convert(bytes(broken), name)
    except UnreadableError as error:
        assert name in error.message


def _sheet(rows: str) -> bytes:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return papers.changed(
        papers.xlsx(),
        {"xl/worksheets/sheet1.xml": f'<worksheet xmlns="{space}"><dimension ref="A1:XFD1048576"/>{rows}</worksheet>'},
    )


def test_a_million_empty_rows_are_nothing():
    rows = "".join(f'<row r="{number}"/>' for number in range(1, 1_000_001))
    found = convert(
        _sheet(f'<sheetData>{rows}<row r="1048576"><c r="XFD1048576"><v>7</v></c></row></sheetData>'),
        "wide.xlsx",
        limits=Limits(ratio=1_000, seconds=600),
    )
    assert found.parts[0].text == "| 7 |\n| --- |"


def test_a_few_cells_far_apart_do_not_fill_what_is_between():
    cells = "".join(f'<row r="{n}"><c r="{a}{b}{n}"><v>{n}</v></c></row>' for n, (a, b) in enumerate(
        ((a, b) for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 1))  # fmt: skip
    text = convert(_sheet(f"<sheetData>{cells}</sheetData>"), "far.xlsx", limits=Limits(cells=1_000)).parts[0].text
    assert text.splitlines()[:2] == ["1", "2"]
    assert len(text) < 5_000


def test_more_cells_than_anybody_reads_are_cut_and_said():
    rows = "".join(f"<row><c><v>{n}</v></c><c><v>0</v></c></row>" for n in range(50))
    found = convert(_sheet(f"<sheetData>{rows}</sheetData>"), "long.xlsx", limits=Limits(cells=20))
    assert found.parts[0].text.count("\n") == 10
    assert "Only the first 10 rows of 'Costs' were read: a workbook is read up to 20 cells." in found.problems


def test_a_pdf_of_ten_thousand_pages_is_read_up_to_the_limit():
    found = convert(papers.pdf(["a"] * 10_000), "long.pdf", limits=Limits(parts=40))
    assert (len(found.parts), found.problems) == (
        40,
        ("Only the first 40 of 10,000 pages were read: a document is read up to 40.",),
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be held to its memory")
def test_a_document_that_needs_too_much_memory_is_given_up():
    large = papers.changed(papers.docx(), {MAIN["a.docx"]: b"<x>" + b" " * 60_000_000})
    with pytest.raises(UnreadableError, match=r"memory|too large"):
        convert(large, "a.docx", limits=Limits(memory=90_000_000, ratio=10_000))


@pytest.mark.parametrize("name", ["a.pdf", "a.pptx", "a.xlsx"])
def test_a_document_that_takes_too_long_says_how_far_it_was_read(name: str):
    data = papers.pdf(["words"] * 3) if name == "a.pdf" else MAKERS[name]()
    with pytest.raises(UnreadableError, match=r"Only the first 0 of \d .* were read: .* at most 0 s"):
        convert(data, name, limits=Limits(seconds=0))


def test_xml_that_is_nested_without_end_is_refused():
    deep = "<a>" * 5_000 + "</a>" * 5_000
    with pytest.raises(UnreadableError, match="nested deeper"):
        convert(papers.changed(papers.docx(), {MAIN["a.docx"]: deep}), "a.docx")


@pytest.mark.parametrize(
    "piece",
    [
        "<div>",
        "<ul><li>",
        "<table><tr><td>",
        "<!--",
        "<a href=x",
        "<b",
        "&#",
        "<![CDATA[",
        "<![x[>",
        "</",
        "<?",
        "<script>",
        "<!x",
    ],
)
def test_html_that_never_closes_anything_is_read_in_bounds(piece: str):
    text = convert((piece * 10_000 + "the end").encode(), "deep.html").text
    assert len(text) < 400_000


def test_a_working_folder_cannot_bring_its_own_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = tmp_path / "vademecum"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('caught')")
    monkeypatch.chdir(tmp_path)
    assert convert(papers.pdf(["hello"]), "a.pdf").text.endswith("hello")


def test_the_process_that_reads_knows_none_of_the_environments_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif 'QUINCE_TOKEN' in os.environ: sys.exit('the token is known')\n"
    )
    monkeypatch.setenv("QUINCE_TOKEN", "t")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert convert(papers.pdf(["hello"]), "a.pdf").text.endswith("hello")


def test_an_archive_of_another_trade_is_no_document():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("photo.png", b"\x89PNG")
    for name in ("a.docx", "a.pptx", "a.xlsx", "a.epub"):
        with pytest.raises(UnreadableError, match=r"no document of an office program|lacks its part"):
            convert(out.getvalue(), name)
