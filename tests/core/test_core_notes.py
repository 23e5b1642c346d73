"""Notes: a person's files that an agent may also write, and the index that names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from tests.core.conftest import Core, MakeCore

from vademecum.core.note_tool import PAGE_CHARACTERS, note_tool
from vademecum.core.slugs import check_slug, slug_of
from vademecum.errors import (
    BlockedError,
    ConflictError,
    FullError,
    NotFoundError,
    UnreadableError,
    UsageError,
    VademecumError,
)
from vademecum.frontmatter import FrontMatter, scalar
from vademecum.model import Origin

BY_HAND = (
    "\ufeff---\r\n"
    "# my own comment\r\n"
    "type:   'project'   # a comment on type\r\n"
    "aliases: [One, Two]\r\n"
    "description: >\r\n"
    "  folded text\r\n"
    "  of two lines\r\n"
    'name: "Deploy: how"\r\n'
    "x-unknown: {deep: [1, 2]}\r\n"
    "---\r\n"
    "\r\n"
    "Body  \r\nwith CRLF.\r\n\r\n\r\n"
)


def put(core: Core, name: str, text: str | bytes) -> None:
    core.folder.notes.mkdir(parents=True, exist_ok=True)
    (core.folder.notes / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def raw(core: Core, name: str) -> str:
    return (core.folder.notes / name).read_bytes().decode("utf-8", "surrogateescape")


def test_a_note_is_one_file_with_front_matter_and_one_line_of_the_index(core: Core) -> None:
    change = core.notes.write("Deploy steps", "How a deploy\nis done", "project", "Run it.\n")
    assert (change.slug, change.outcome) == ("deploy-steps", "done")
    assert raw(core, "deploy-steps.md") == (
        "---\nname: Deploy steps\ndescription: How a deploy is done\ntype: project\ncreated: 2027-01-15\n---\n"
        "\nRun it.\n"
    )
    assert raw(core, "INDEX.md") == "- [Deploy steps](deploy-steps.md) — How a deploy is done\n"
    note = core.notes.read("deploy-steps")
    assert (note.name, note.type, note.body) == ("Deploy steps", "project", "Run it.")


@pytest.mark.parametrize(
    "matter",
    [
        "name: n\ndescription: d\ntype: feedback",
        "name: n\ndescription: d\nmetadata:\n  node_type: memory\n  type: feedback",
        "name: 'n'\ndescription: \"d\"\nmetadata: {type: feedback}",
        "# c\ntype: feedback # why\nname: >-\n  n\ndescription: |-\n  d",
    ],
)
def test_both_dialects_and_any_yaml_parse(core: Core, matter: str) -> None:
    put(core, "a.md", f"---\n{matter}\n---\nbody")
    head = core.notes.list()[0]
    assert (head.name, head.description, head.type, head.problem) == ("n", "d", "feedback", "")


def test_a_rewrite_changes_the_lines_it_means_and_no_other_byte(core: Core) -> None:
    put(core, "deploy.md", BY_HAND.encode())
    core.notes.write("deploy", "new hook", "project", "Body  \nwith CRLF.")
    assert raw(core, "deploy.md") == BY_HAND.replace(
        "description: >\r\n  folded text\r\n  of two lines\r\n", "description: new hook\r\n"
    )
    core.notes.write("deploy", "new hook", "reference", "Other.")
    text = raw(core, "deploy.md")
    assert "type: reference   # a comment on type\r\n" in text
    assert text.endswith("---\r\n\r\nOther.\r\n")
    assert "aliases: [One, Two]\r\n" in text


def test_the_type_under_metadata_is_changed_where_it_stands(core: Core) -> None:
    put(core, "a.md", "---\nname: a\ndescription: d\nmetadata:\n  type: user\n  x: 1\n---\nbody\n")
    core.notes.write("a", "d", "project", "body")
    assert raw(core, "a.md") == "---\nname: a\ndescription: d\nmetadata:\n  type: project\n  x: 1\n---\nbody\n"


def test_writing_what_stands_there_changes_nothing(core: Core) -> None:
    core.notes.write("A", "d", "user", "text")
    before = raw(core, "a.md")
    core.now += 10**9
    assert core.notes.write("A", "d", "user", "text\n").outcome == "duplicate"
    assert raw(core, "a.md") == before


@pytest.mark.parametrize(
    "text", ["---\nname: [broken\n---\nwords", "---\nname: x\nno end", "just words", "---\n- a\n---\nwords"]
)
def test_broken_front_matter_is_read_as_text_reported_and_never_rewritten(core: Core, text: str) -> None:
    put(core, "a.md", text)
    note = core.notes.read("a")
    assert note.problem
    assert "words" in note.body or "no end" in note.body
    assert [found.what for found in core.notes.diagnose() if found.path.name == "a.md"] == [note.problem]
    with pytest.raises(UnreadableError):
        core.notes.write("a", "d", "user", "text")
    assert raw(core, "a.md") == text


def test_bytes_that_are_not_utf8_survive_a_rewrite_of_another_line(core: Core) -> None:
    put(core, "a.md", b"---\nname: a\ndescription: d\ntype: user\n---\ncaf\xe9\n")
    assert core.notes.read("a").body == "caf\ufffd"
    put(core, "b.md", b"---\nname: b\ndescription: d\nx: caf\xe9\ntype: user\n---\nbody\n")
    core.notes.write("b", "other", "user", "body")
    written = raw(core, "b.md").encode("utf-8", "surrogateescape")
    assert written == b"---\nname: b\ndescription: other\nx: caf\xe9\ntype: user\n---\nbody\n"


def test_a_persons_lines_of_the_index_are_kept(core: Core) -> None:
    put(core, "INDEX.md", "# My index\r\n\r\n* [Old](a.md) my own hook\r\nfree text")
    put(core, "a.md", "---\nname: A\ndescription: d\ntype: user\n---\nbody\n")
    core.notes.write("a", "changed", "user", "body")
    assert raw(core, "INDEX.md") == "# My index\r\n\r\n* [Old](a.md) my own hook\r\nfree text"
    core.notes.write("New [one]", "hook", "user", "body")
    assert raw(core, "INDEX.md").endswith("free text\r\n- [New \\[one\\]](new-one.md) — hook\r\n")
    core.notes.write("New [one]", "other hook", "user", "body")
    assert raw(core, "INDEX.md").endswith("free text\r\n- [New \\[one\\]](new-one.md) — other hook\r\n")
    core.notes.remove("new-one")
    assert raw(core, "INDEX.md") == "# My index\r\n\r\n* [Old](a.md) my own hook\r\nfree text\r\n"


def test_an_index_without_room_refuses_lists_its_lines_and_writes_nothing(make_core: MakeCore) -> None:
    core = make_core(index_char_limit=60)
    core.notes.write("One", "the first", "user", "text")
    before = raw(core, "INDEX.md")
    with pytest.raises(FullError) as caught:
        core.notes.write("Two", "the second note " * 3, "user", "text")
    assert "- [One](one.md) — the first" in caught.value.message
    assert raw(core, "INDEX.md") == before
    assert not (core.folder.notes / "two.md").exists()
    core.notes.write("One", "1st", "user", "text")
    core.notes.remove("one")
    assert core.notes.index_text() == ""


def test_names_that_differ_only_in_case_are_refused_clearly(core: Core) -> None:
    core.notes.write("Case", "d", "user", "first")
    with pytest.raises(ConflictError) as caught:
        core.notes.write("CASE", "d", "user", "second")
    assert "'Case'" in caught.value.message
    assert core.notes.read("case").body == "first"
    put(core, "CASE.md", "---\nname: CASE\ndescription: d\ntype: user\n---\nby hand\n")
    assert core.notes.read("CASE").body == "by hand"
    assert core.notes.read("case").body == "first"


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".hidden", "a\\b", "/etc/passwd", "x\x00"])
def test_no_name_leads_out_of_the_folder(core: Core, name: str) -> None:
    with pytest.raises(UsageError):
        core.notes.read(name)
    with pytest.raises(UsageError):
        core.notes.remove(name)
    try:
        slug = core.notes.write(name, "d", "user", "text").slug
    except VademecumError:
        return
    assert (core.folder.notes / f"{slug}.md").resolve().parent == core.folder.notes.resolve()


@given(st.text(min_size=1, max_size=200).filter(lambda text: text.strip()))
def test_every_name_has_a_safe_slug(name: str) -> None:
    slug = slug_of(name)
    assert check_slug(slug) == slug
    assert slug_of(slug) == slug
    assert len(slug.encode()) <= 130


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Über das Haus", "über-das-haus"),
        ("日本語 メモ", "日本語-メモ"),
        ("हिन्दी", "हिन्दी"),
        ("Index", "index-note"),
        ("con", "con-note"),
    ],
)
def test_slugs_keep_every_script(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_a_note_that_is_not_there_is_an_error_with_close_names(core: Core) -> None:
    core.notes.write("Deploy", "d", "user", "text")
    with pytest.raises(NotFoundError) as caught:
        core.notes.read("deplyo")
    assert "deploy" in caught.value.hint


@pytest.mark.parametrize(("kind", "description", "body"), [("fact", "d", "x"), ("user", " ", "x"), ("user", "d", " ")])
def test_a_note_lacks_nothing(core: Core, kind: str, description: str, body: str) -> None:
    with pytest.raises(UsageError):
        core.notes.write("a", description, kind, body)
    assert not (core.folder.notes / "a.md").exists()


def test_hidden_characters_are_refused(core: Core) -> None:
    with pytest.raises(BlockedError):
        core.notes.write("a", "d", "user", "hidden \u200b text")
    with pytest.raises(BlockedError):
        core.notes.write("a", "half \ud800", "user", "text")


def test_a_staged_note_is_written_as_it_was_shown(core: Core) -> None:
    change = core.notes.write("A", "d", "user", "text", origin=Origin.tool("web"))
    assert change.outcome == "staged"
    assert change.proposal is not None
    assert core.notes.list() == ()
    shown = core.review.show(change.proposal).text
    core.review.approve(change.proposal, by=Origin.person())
    assert raw(core, "a.md") == shown
    assert core.notes.index_text() == "- [A](a.md) — d"


def test_an_approval_of_a_note_that_changed_since_is_refused(core: Core) -> None:
    core.notes.write("A", "d", "user", "text")
    change = core.notes.write("A", "d", "user", "from the web", origin=Origin.tool("web"))
    core.notes.write("A", "d", "user", "newer")
    assert change.proposal is not None
    with pytest.raises(ConflictError):
        core.review.approve(change.proposal, by=Origin.person())
    assert core.notes.read("a").body == "newer"


def test_a_skill_is_inactive_until_a_person_approves_it_and_then_read_like_a_note(core: Core) -> None:
    change = core.notes.write_skill("Release", "How a release is made", "1. Tag.\n2. Push.")
    assert change.outcome == "staged"
    assert change.proposal is not None
    assert core.notes.list() == ()
    core.review.approve(change.proposal, by=Origin.person())
    assert (core.folder.skills / "release" / "SKILL.md").is_file()
    assert core.notes.index_text() == "- [Release](../skills/release/SKILL.md) — How a release is made"
    assert [(head.slug, head.skill) for head in core.notes.list()] == [("release", True)]
    assert core.notes.read("release").body == "1. Tag.\n2. Push."
    core.notes.remove("release", origin=Origin.person())
    assert core.notes.index_text() == ""
    assert not (core.folder.skills / "release").exists()


def test_doctor_names_what_index_and_files_do_not_agree_on_and_repair_adds_lines(core: Core) -> None:
    put(core, "by hand (1).md", "---\nname: By hand\ndescription: d\ntype: user\n---\ntext\n")
    put(core, "INDEX.md", "- [Gone](gone.md) — d\n- [Web](https://example.org)\n")
    assert [found.what for found in core.notes.diagnose()] == [
        "it has no line for by hand (1).md",
        "it names gone.md, which is not there",
    ]
    core.notes.repair()
    assert raw(core, "INDEX.md").endswith("- [By hand](by%20hand%20%281%29.md) — d\n")
    assert [found.what for found in core.notes.diagnose()] == ["it names gone.md, which is not there"]


def tool(core: Core, **args: object) -> dict[str, object]:
    return note_tool(core.notes, args, origin=Origin.assistant(), session=None)


def test_the_tool_lists_reads_writes_and_removes(core: Core) -> None:
    written = tool(core, action="write", name="Deploy", description="d", type="project", content="Steps.")
    assert (written["success"], written["done"], written["file"]) == (True, True, "deploy")
    listed = tool(core, action="list")["results"]
    assert listed == [{"name": "Deploy", "file": "deploy", "type": "project", "description": "d"}]
    assert tool(core, action="read", name="Deploy")["content"] == "Steps."
    assert tool(core, action="remove", name="deploy.md")["success"] is True
    assert tool(core, action="read", name="deploy")["code"] == "not_found"


def test_a_long_note_is_read_in_pages(core: Core) -> None:
    body = "".join(f"{number:06d}\n" for number in range(4000)).strip()
    core.notes.write("Long", "d", "reference", body)
    first = tool(core, action="read", name="long")
    assert f"offset {PAGE_CHARACTERS}" in str(first["hint"])
    second = tool(core, action="read", name="long", offset=PAGE_CHARACTERS)
    third = tool(core, action="read", name="long", offset=2 * PAGE_CHARACTERS)
    assert f"{first['content']}{second['content']}{third['content']}" == body


@pytest.mark.parametrize(
    "args",
    [{}, {"action": "erase"}, {"action": "read"}, {"action": "write", "name": "a"}, {"action": "read", "name": 5}],
)
def test_a_wrong_call_is_answered(core: Core, args: dict[str, object]) -> None:
    answer = tool(core, **args)
    assert answer["success"] is False
    assert answer["code"] == "usage"


@given(st.text(max_size=30).map(lambda text: " ".join(text.split())).filter(bool))
def test_a_written_value_is_read_back_by_us_and_by_yaml(value: str) -> None:
    text = f"---\nname: {scalar(value)}\nother: x\n---\nbody"
    parts = FrontMatter.parse(text)
    assert (parts.problem, parts.get("name"), parts.get("other")) == ("", value, "x")
    assert (
        YAML(typ="safe", pure=True).load(text.split("---")[1] if "---" not in value else f"name: {scalar(value)}")[
            "name"
        ]
        == value
    )


@given(
    st.lists(
        st.sampled_from(
            [
                "name",
                "a",
                ":",
                " ",
                "\n",
                "  ",
                "'",
                '"',
                "#",
                "- ",
                "x",
                "type: user",
                "\r\n",
                "|",
                "[",
                "]",
                "---",
                "é",
                "\t",
            ]
        ),
        max_size=14,
    ).map("".join)
)
def test_what_is_read_quickly_is_what_yaml_reads(inner: str) -> None:
    text = f"---\n{inner}\n---\nbody"
    parts = FrontMatter.parse(text)
    assert parts.text == text
    if parts.problem or not parts.values:
        return
    loaded = YAML(typ="base", pure=True).load("".join(parts.lines))
    assert {key: value for key, value in parts.values.items() if value} == {k: v for k, v in loaded.items() if v}
