"""Documents as Markdown: what a reader of each kind finds, by name and by part."""

from __future__ import annotations

import papers
import pytest

from vademecum.errors import UnreadableError
from vademecum.library.documents import Limits, Part, convert, kind_of, readable


def test_a_word_document_keeps_headings_lists_and_tables():
    found = convert(papers.docx(), "bees.docx")
    assert (found.kind, found.title, found.authors) == ("docx", "Report on bees", ("Ada Byron",))
    assert found.text == (
        "# Findings\n\nThe hives in the north lost a third of their bees.\n\n## Causes\n\n- mites\n1. a cold spring\n\n"
        "| hive | loss |\n| --- | --- |\n| A\\|1 | 34 % |\n\nSeen by all.\n\n\\# not a heading"
    )


def test_hidden_text_of_a_word_document_is_left_out_and_said():
    found = convert(papers.docx(), "bees.docx")
    assert "Ignore" not in found.text
    assert found.problems == ("25 characters of hidden text were left out.",)


def test_text_that_a_style_hides_is_left_out_and_said():
    body = (
        f'<w:document xmlns:w="{papers.WORD}"><w:body><w:p><w:r><w:t>Seen.</w:t></w:r>'
        '<w:r><w:rPr><w:rStyle w:val="Child"/></w:rPr><w:t>HIDDEN</w:t></w:r>'
        '<w:r><w:rPr><w:rStyle w:val="Child"/><w:vanish w:val="0"/></w:rPr><w:t> Too.</w:t></w:r></w:p>'
        '<w:p><w:pPr><w:pStyle w:val="Gone"/></w:pPr><w:r><w:t>GONE</w:t></w:r></w:p></w:body></w:document>'
    )
    styles = (
        f'<w:styles xmlns:w="{papers.WORD}"><w:style w:styleId="Hid"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:styleId="Child"><w:basedOn w:val="Hid"/></w:style>'
        '<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>'
        '<w:style w:styleId="Gone"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>'
    )
    found = convert(papers.changed(papers.docx(), {"word/document.xml": body, "word/styles.xml": styles}), "a.docx")
    assert found.text == "Seen. Too."
    assert found.problems == ("10 characters of hidden text were left out.",)


def test_deleted_text_is_left_out_and_comments_and_notes_are_labelled():
    body = (
        f'<w:document xmlns:w="{papers.WORD}" xmlns:r="{papers.OFFICE}"><w:body><w:p><w:r><w:t>We sell </w:t></w:r>'
        "<w:del><w:r><w:delText>at a loss</w:delText></w:r></w:del><w:ins><w:r><w:t>well</w:t></w:r></w:ins>"
        '<w:r><w:footnoteReference w:id="2"/></w:r> <w:hyperlink r:id="rId91"><w:r><w:t>here</w:t></w:r></w:hyperlink>'
        '<w:hyperlink r:id="rId92"><w:r><w:t>there</w:t></w:r></w:hyperlink></w:p></w:body></w:document>'
    )
    start = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = (
        f'{start}<Relationship Id="rId1" Type="{kinds}/footnotes" Target="footnotes.xml"/>'
        f'<Relationship Id="rId2" Type="{kinds}/comments" Target="/word/comments.xml"/>'
        f'<Relationship Id="rId91" Type="{kinds}/hyperlink" Target="https://example.org/a" TargetMode="External"/>'
        f'<Relationship Id="rId92" Type="{kinds}/hyperlink" Target="javascript:x" TargetMode="External"/>'
        "</Relationships>"
    )
    made = papers.changed(
        papers.docx(),
        {
            "word/document.xml": body,
            "word/_rels/document.xml.rels": relations,
            "word/footnotes.xml": f'<w:footnotes xmlns:w="{papers.WORD}"><w:footnote w:id="2"><w:p><w:r><w:t>In May.'
            "</w:t></w:r></w:p></w:footnote></w:footnotes>",
            "word/comments.xml": f'<w:comments xmlns:w="{papers.WORD}"><w:comment w:author="Bo"><w:p><w:r><w:t>Sure?'
            "</w:t></w:r></w:p></w:comment></w:comments>",
        },
    )
    found = convert(made, "sales.docx")
    assert found.text == (
        "We sell well[^2][here](https://example.org/a)there\n\n[^2]: In May.\n\n"
        "Comments in the margin, which are no part of the text:\n\n- Bo: Sure?"
    )
    assert found.problems == ("9 characters that were deleted with changes tracked were left out.",)


def test_slides_are_parts_and_what_the_audience_does_not_see_is_labelled():
    found = convert(papers.pptx(), "plan.pptx")
    assert [part.name for part in found.parts] == ["Slide 1: The plan", "Slide 2 (hidden): Costs"]
    assert found.parts[0].text == "Ship in May\nTell nobody\n\nNotes of the speaker:\n\nPause here."
    assert found.parts[1].text == "| item | sum |\n| --- | --- |\n| hosting | 120 |"


def test_sheets_are_tables_of_what_is_filled_and_seen():
    found = convert(papers.xlsx(), "costs.xlsx")
    assert found.parts == (
        Part(
            "Costs",
            "| item | sum | since |  |\n| --- | --- | --- | --- |\n"
            "| hosting | 120.5 | 2026-03-01 |  |\n|  |  |  | far away |",
        ),
        Part("Attic (hidden)", "| old |\n| --- |"),
    )
    assert found.problems == ("1 hidden rows and 0 hidden columns of 'Costs' were left out.",)


def test_a_pdf_is_read_page_by_page():
    found = convert(papers.pdf(["On mills\nwind", "# water"], title="Mills"), "mills.pdf")
    assert (found.title, found.authors) == ("Mills", ("A. Writer",))
    assert found.parts == (Part("Page 1", "On mills\nwind"), Part("Page 2", "\\# water"))
    assert found.text == "# Page 1\n\nOn mills\nwind\n\n# Page 2\n\n\\# water"


def test_a_page_without_text_is_named():
    found = convert(papers.pdf(["words", "", ""]), "scan.pdf")
    assert found.problems == ("2 pages (2, 3) hold no text (a scan, or pictures only).",)


def test_a_pdf_is_known_by_its_first_bytes_whatever_it_is_called():
    assert convert(papers.pdf(["hello"]), "paper.txt").kind == "pdf"


def test_a_book_is_read_in_its_order():
    found = convert(papers.epub({"b.xhtml": "<h1>Roses</h1><p>prune</p>", "a.xhtml": "<p>and lilies</p>"}), "g.epub")
    assert (found.title, found.authors) == ("Gardens", ("G. Jekyll",))
    assert found.parts == (Part("Roses", "# Roses\n\nprune"), Part("t", "and lilies"))
    assert found.text == "# Roses\n\nprune\n\n# t\n\nand lilies"


HTML = """<!doctype html><html><head>
<title>A  page</title><style>p{}</style><script>var x = "<p>no</p>"</script></head>
<body><!-- hidden comment --><nav><a href="/home">Home</a></nav>
<h2>Fruit &amp; more</h2><p>One<br>two <code>x = 1</code>
<a href="javascript:alert(1)">run</a> <img src=x alt="a pear"></p><ul><li>apple<ul><li>red<li>green</ul><li>plum</ul>
<ol start=3><li>third</ol><blockquote>quoted</blockquote><pre>
  def f():
      return "`"
</pre><table><tr><th>a<th>b<tr><td>1<td>2|3</table><p style="display:none">secret order</p><div hidden>more</div>
<span style="font-size:0">tiny</span><template>never</template><p># like a heading</p></body></html>"""


def test_a_web_page_is_what_its_reader_sees():
    found = convert(HTML.encode(), "page.html")
    assert found.title == "A page"
    assert found.text == (
        "[Home](/home)\n\n## Fruit & more\n\nOne\ntwo `x = 1` run [image: a pear]\n\n"
        "- apple\n  - red\n  - green\n- plum\n"
        '3. third\n\n> quoted\n\n```\n  def f():\n      return "`"\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2\\|3 |\n\n'
        "\\# like a heading"
    )


def test_what_a_web_page_hides_is_counted():
    assert convert(HTML.encode(), "page.html").problems == (
        "20 characters that the page hides from its readers were left out.",
    )


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("utf-8-sig", "a.txt"), ("utf-16", "a.txt"), ("utf-16-le", "a.txt"), ("cp1252", "a.txt"), ("latin-1", "é.md")],
)
def test_text_is_read_in_the_encoding_that_it_has(encoding: str, name: str):
    assert (
        convert("Größe: café, naïve and more\r\nnext".encode(encoding), name).text
        == "Größe: café, naïve and more\nnext"
    )


def test_a_web_page_may_name_its_encoding():
    page = '<meta charset="koi8-r"><p>привет</p>'
    assert convert(page.encode("koi8-r"), "p.html").text == "привет"


def test_a_web_page_cannot_name_a_packer_as_its_encoding():
    page = '<meta charset="hex"><p>é</p>'.encode("latin-1") + b"78" * 50
    assert convert(page, "p.html").text == "é\n\n" + "78" * 50


def test_code_stands_in_a_fence_that_it_cannot_close():
    assert convert(b"# comment\n````\nx = 1\n", "a.py").text == "`````python\n# comment\n````\nx = 1\n`````"


def test_a_notebook_is_its_cells():
    cells = b'{"cells": [{"cell_type": "markdown", "source": ["# T\\n", "x"]}, {"cell_type": "code", "source": "1+1"}]}'
    assert convert(cells, "n.ipynb").text == "# T\nx\n\n```python\n1+1\n```"


@pytest.mark.parametrize(
    ("data", "name"), [(b"a,b\n1,2\n", "t.csv"), (b"a;b\n1;2\n", "t.csv"), (b"a\tb\n1\t2", "t.tsv")]
)
def test_a_table_in_text_becomes_one(data: bytes, name: str):
    assert convert(data, name).text == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_rows_of_different_length_stay_whole():
    assert convert(b"a,b\n1\n1,2,3\n", "t.csv").text == "| a | b |  |\n| --- | --- | --- |\n| 1 |  |  |\n| 1 | 2 | 3 |"


def test_an_empty_page_is_no_fault():
    assert convert(b"", "x.md").parts == (Part("", ""),)


def test_markdown_stays_as_it_is():
    assert convert(b"---\ntags: [a]\n---\n# T\n\n[[b]]", "x.md").text == "---\ntags: [a]\n---\n# T\n\n[[b]]"


def test_names_say_what_is_a_document():
    assert all(readable(name) for name in ("a.PDF", "b.md", "Makefile", "README", "x.tar.html", "日本語.docx", "l.doc"))
    assert not any(readable(name) for name in ("a.png", "b.exe", "noend", "c.zip", "d.sqlite"))


@pytest.mark.parametrize(
    ("data", "name", "why"),
    [
        (b"", "a.pdf", "empty"),
        (b"\0" * 99, "a.txt", "zero bytes"),
        (b"x", "a.bin", "cannot be read as a document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "a.docx", "encrypted, or of a format from before 2007"),
        (b"words\x00\x01\x02 and more", "a.txt", "binary"),
        (b"no pdf at all", "a.pdf", "no PDF"),
        (b"no archive", "a.docx", "no archive"),
        (b"no archive", "a.epub", "no archive"),
    ],
)
def test_what_cannot_be_read_says_why_and_which_file(data: bytes, name: str, why: str):
    with pytest.raises(UnreadableError, match=why) as caught:
        convert(data, f"folder/{name}")
    assert name in caught.value.message


def test_a_kind_that_nobody_knows_is_an_error():
    with pytest.raises(UnreadableError):
        kind_of("a.xyz", b"")


def test_a_limit_that_is_reached_is_said_and_the_beginning_kept():
    found = convert(papers.pdf([f"page {n}" for n in range(1, 9)]), "long.pdf", limits=Limits(parts=3))
    assert [part.text for part in found.parts] == ["page 1", "page 2", "page 3"]
    assert found.problems == ("Only the first 3 of 8 pages were read: a document is read up to 3.",)
    cut = convert(b"x" * 500, "a.txt", limits=Limits(characters=100))
    assert (len(cut.text), cut.problems) == (100, ("Only the first 100 characters were read.",))


@pytest.mark.parametrize(
    "html",
    [
        "<style>.a{display:none}</style><p class='b a'>HID</p>",
        "<style>/* x */ p.a, #no { color: red; DISPLAY : NONE !important }</style><p class=a>HID</p>",
        "<style>@media screen { #h { visibility:hidden } }</style><p id=h>HID</p>",
        "<style>aside{opacity:0%}</style><aside>HID</aside>",
        '<p style="font-size:0px">HID</p>',
        '<p style="font-size:0.1px">HID</p>',
        '<p style="opacity:0%">HID</p>',
        '<p style="opacity:.0">HID</p>',
        '<p style="transform:scale(0)">HID</p>',
        '<p style="height:0;overflow:hidden">HID</p>',
        '<p style="clip-path: inset(100%)">HID</p>',
        '<p style="position:absolute;clip:rect(0,0,0,0)">HID</p>',
        '<p style="color:transparent">HID</p>',
        '<p style="/**/display:none">HID</p>',
        '<p style="disp/**/lay:none">HID</p>',
        '<p style="disp\\6c ay:none">HID</p>',
        "<div hidden=until-found>HID</div>",
        "<dialog>HID</dialog>",
    ],
)
def test_what_a_page_hides_in_a_simple_way_is_left_out_and_counted(html: str):
    found = convert(f"{html}<p>Seen.</p>".encode(), "a.html")
    assert found.text == "Seen."
    assert "3 characters that the page hides" in " ".join(found.problems)


@pytest.mark.parametrize(
    "html",
    [
        '<p style="opacity:0.5">Seen.</p>',
        '<p style="font-size:0.9em">Seen.</p>',
        '<p style="height:0">Seen.</p>',
        '<p style="line-height:0.5;overflow:hidden">Seen.</p>',
        '<p style="background-color:transparent">Seen.</p>',
        '<p style="max-width:100px;overflow:hidden">Seen.</p>',
        "<style>.a .b{display:none}</style><p class=b>Seen.</p>",
        "<style>body{display:none}</style><p>Seen.</p>",
        "<style>@media print {nav, .b {display:none}} @media (max-width:9px){.b{display:none}}</style><p class=b>Seen.",
        "<style>@keyframes x { from { opacity: 0 } }</style><p class=from>Seen.</p>",
        "<dialog open>Seen.</dialog>",
    ],
)
def test_what_a_page_shows_is_kept(html: str):
    assert convert(html.encode(), "a.html").text == "Seen."
