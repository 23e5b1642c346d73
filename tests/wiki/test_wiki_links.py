"""Obsidian's link rules, as a table of cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import graph_of

from vademecum.wiki.graph import Graph
from vademecum.wiki.inline import blanked, links, tags

PAGES = {
    "Note.md": "# Note\n\n## Deep heading: one\n\ntext ^block-1\n",
    "folder/Other page.md": "---\naliases: [Second name, CI/CD]\n---\n# Its Title\n",
    "folder/Twin.md": "one",
    "elsewhere/Twin.md": "two",
    "elsewhere/deep/Beside.md": "three",
    "Case.md": "upper",
    "case.md": "lower",
    "日本/設計.md": "four",
    "v1.2 plan.md": "five",
    "R&D (old).md": "six",
    "picture.png": b"\x89PNG",
}

CASES = [
    # what is written, on which page, and the page it leads to
    ("[[Note]]", "Here.md", "Note.md"),
    ("[[note]]", "Here.md", "Note.md"),
    ("[[Note|shown]]", "Here.md", "Note.md"),
    ("[[Note\\|shown]]", "Here.md", "Note.md"),
    ("[[Note.md]]", "Here.md", "Note.md"),
    ("[[ Note ]]", "Here.md", "Note.md"),
    ("[[Note#Deep heading: one]]", "Here.md", "Note.md"),
    ("[[Note#Note#Deep heading one]]", "Here.md", "Note.md"),
    ("[[Note#^block-1]]", "Here.md", "Note.md"),
    ("![[Note]]", "Here.md", "Note.md"),
    ("[[Other page]]", "Here.md", "folder/Other page.md"),
    ("[[folder/Other page]]", "Here.md", "folder/Other page.md"),
    ("[[/folder/Other page]]", "Here.md", "folder/Other page.md"),
    ("[[Second name]]", "Here.md", "folder/Other page.md"),
    ("[[CI/CD]]", "Here.md", "folder/Other page.md"),
    ("[[Its Title]]", "Here.md", "folder/Other page.md"),
    ("[[Twin]]", "folder/Here.md", "folder/Twin.md"),
    ("[[Twin]]", "elsewhere/Here.md", "elsewhere/Twin.md"),
    ("[[elsewhere/Twin]]", "folder/Here.md", "elsewhere/Twin.md"),
    ("[[deep/Beside]]", "Here.md", "elsewhere/deep/Beside.md"),
    ("[[./Twin]]", "elsewhere/Here.md", "elsewhere/Twin.md"),
    ("[[../folder/Twin]]", "elsewhere/Here.md", "folder/Twin.md"),
    ("[[Case]]", "Here.md", "Case.md"),
    ("[[case]]", "Here.md", "case.md"),
    ("[[設計]]", "Here.md", "日本/設計.md"),
    ("[[v1.2 plan]]", "Here.md", "v1.2 plan.md"),
    ("[[R&D (old)]]", "Here.md", "R&D (old).md"),
    ("[text](Note.md)", "Here.md", "Note.md"),
    ("[text](Note)", "Here.md", "Note.md"),
    ("[text](folder/Other%20page.md)", "Here.md", "folder/Other page.md"),
    ("[text](<folder/Other page.md>)", "Here.md", "folder/Other page.md"),
    ("[text](Other%20page.md)", "Here.md", "folder/Other page.md"),
    ("[text](../Note.md#Deep%20heading%3A%20one)", "folder/Here.md", "Note.md"),
    ("[text](Twin.md)", "elsewhere/Here.md", "elsewhere/Twin.md"),
    ("[text](R&D%20(old).md)", "Here.md", "R&D (old).md"),
    ("[text](R&D%20(old).md \"title\")", "Here.md", "R&D (old).md"),
    ("[text](%E6%97%A5%E6%9C%AC/%E8%A8%AD%E8%A8%88.md)", "Here.md", "日本/設計.md"),
    ("[label]: folder/Twin.md", "Here.md", "folder/Twin.md"),
    ("[[#heading here]]", "Here.md", "Here.md"),
    ("[[Nowhere]]", "Here.md", None),
    ("[[other/Note]]", "Here.md", None),
    ("[[../Note]]", "Here.md", None),
]  # fmt: skip


@pytest.mark.parametrize(("written", "on", "leads_to"), CASES)
def test_a_link_leads_to_the_page_that_obsidian_opens(
    written: str, on: str, leads_to: str | None, tmp_path: Path
) -> None:
    index, graph = graph_of(
        tmp_path / "vault",
        {**PAGES, on: f"# heading here\n\nsee {written}\n" if not written.startswith("[label]") else written},
    )
    (link,) = graph.outlinks(index.page(on))
    assert link.raw == written
    assert (None if link.to is None else index.page(link.to).path) == leads_to


NO_LINKS = [
    "`[[Note]]`",
    "``[[Note]] ` ``",
    "$a [[Note]] b$",
    "%% [[Note]] %%",
    "<!-- [[Note]] -->",
    "[[]]",
    "[[|x]]",
    "[web](https://example.org/Note.md)",
    "[mail](mailto:me@example.org)",
    "[other](//example.org/x)",
    "```\n[[Note]]\n```",
    "~~~~\n~~~\n[[Note]]\n~~~~",
    "> ```\n> [[Note]]\n> ```",
    "$$\n[[Note]]\n$$",
    "%%\n[[Note]]\n%%",
    "<!--\n[[Note]]\n-->",
    "text\n\n    [[Note]]\n",
]


@pytest.mark.parametrize("text", NO_LINKS)
def test_what_is_code_math_comment_or_outside_is_no_link(text: str, tmp_path: Path) -> None:
    index, graph = graph_of(tmp_path / "vault", {"Note.md": "x", "Here.md": text})
    assert graph.outlinks(index.page("Here.md")) == ()


LINKS_ALL_THE_SAME = [
    ("- item\n\n    [[Note]]", 3),
    ("> [!note] Title [[Note]]", 1),
    ("| a | [[Note\\|b]] |", 1),
    ("costs $5 and [[Note]] $6", 1),
    ("**[[Note]]**", 1),
    ("```\ncode\n```\n[[Note]]", 4),
    ("`a` [[Note]] `b`", 1),
    ("- [ ] do [[Note]]", 1),
    ("unclosed ` [[Note]]", 1),
]


@pytest.mark.parametrize(("text", "line"), LINKS_ALL_THE_SAME)
def test_a_link_is_found_in_lists_callouts_tables_and_beside_code(text: str, line: int, tmp_path: Path) -> None:
    index, graph = graph_of(tmp_path / "vault", {"Note.md": "x", "Here.md": text})
    (link,) = graph.outlinks(index.page("Here.md"))
    assert (link.line, link.to) == (line, index.page("Note.md").id)


TAGS = [
    ("#one #two/three", ["one", "two/three"]),
    ("(#a) #1984 #y1984", ["a", "y1984"]),
    ("#日本 #a-b_c", ["日本", "a-b_c"]),
    ("no#tag `#code` [x](#heading) [[a#b]] C# # not", []),
]


@pytest.mark.parametrize(("line", "expected"), TAGS)
def test_tags_are_found_as_obsidian_finds_them(line: str, expected: list[str]) -> None:
    assert tags(blanked(line)) == expected


def test_a_line_of_a_million_brackets_is_read_in_linear_time() -> None:
    for line in ("[" * 1_000_000, "[[" * 500_000 + "](", "`" * 999_999, "$" * 999_999, "[](" * 300_000):
        assert list(links(blanked(line))) == []


def test_who_links_here_is_told_by_any_of_the_pages_names(tmp_path: Path) -> None:
    index, graph = graph_of(
        tmp_path / "vault",
        {**PAGES, "A.md": "[[Second name]]", "B.md": "[x](folder/Other%20page.md)\n[[Other page]]", "C.md": "[[Twin]]"},
    )
    page = index.page("folder/Other page")
    assert [(index.page(one.page).path, one.line) for one in graph.backlinks(page)] == [
        ("A.md", 1), ("B.md", 1), ("B.md", 2),
    ]  # fmt: skip


def test_neighbours_are_found_both_ways_with_their_distance(tmp_path: Path) -> None:
    index, graph = graph_of(tmp_path / "vault", {"a.md": "[[b]]", "b.md": "[[c]]", "c.md": "", "d.md": "[[d]]"})
    near = graph.neighbours(index.page("c"), 2)
    assert {index.page(n).path: distance for n, distance in near.items()} == {"b.md": 1, "a.md": 2}
    assert [page.path for page in graph.orphans()] == ["d.md"]


def test_broken_links_say_what_is_missing_and_pictures_are_not_broken(tmp_path: Path) -> None:
    text = "[[Nowhere]]\n[[Note#No such]]\n[[Note#^none]]\n![[picture.png]]\n![[gone.png]]\n[[Note#Deep heading one]]"
    graph = graph_of(tmp_path / "vault", {**PAGES, "Here.md": text})[1]
    assert [(one.page.path, one.link.line, one.why) for one in graph.broken()] == [
        ("Here.md", 1, "there is no such page"),
        ("Here.md", 2, "its page has no such heading"),
        ("Here.md", 3, "its page has no such block"),
        ("Here.md", 5, "there is no such page"),
    ]


def test_a_link_leads_elsewhere_once_a_nearer_page_is_there(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    index, graph = graph_of(root, {"far/Twin.md": "x", "here/Here.md": "[[Twin]]"})
    assert index.page(graph.outlinks(index.page("Here"))[0].to or 0).path == "far/Twin.md"
    (root / "here/Twin.md").write_text("y")
    index.refresh()
    assert index.page(Graph(index).outlinks(index.page("Here"))[0].to or 0).path == "here/Twin.md"
