"""Names, lines and contents that no editor makes: what is beside them is found, and what is not found is said."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import index_of, matches, written
from knowing import compiled, knowing

import vademecum
from vademecum.agent.vademecum import Vademecum
from vademecum.errors import NotFoundError, UnreadableError
from vademecum.surfaces.cli.app import run_command


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Vademecum]:
    """A home with a page in its vault."""
    with vademecum.open(tmp_path / "home") as opened:
        written(vault_of(opened), {"good.md": "# Good\n\nThe heron stands.\n"})
        yield opened


def vault_of(vm: Vademecum) -> Path:
    return vm.home.root / "vault"


def deep_folder(root: Path) -> None:
    """Folders below each other until nobody, not even root, can list the last of them by its path."""
    handle = os.open(root, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=handle)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


@pytest.mark.parametrize("ignore", [b"*.tmp\n", None])
def test_names_that_are_no_utf8_keep_nothing_else_from_being_found(tmp_path: Path, ignore: bytes | None) -> None:
    root = written(tmp_path / "notes", {"good.md": "heron", "sub/also.md": "heron"})
    (root / os.fsdecode(b"bad\xff.md")).write_text("heron")
    (root / os.fsdecode(b"fold\xff")).mkdir()
    (root / os.fsdecode(b"fold\xff/in.md")).write_text("heron")
    if ignore is not None:
        (root / ".vademecumignore").write_bytes(ignore)
    index = index_of(root)
    unseen = index.refresh().unseen
    assert matches(index, "heron") == ["good.md", "sub/also.md"]
    assert len(unseen) == 2
    assert all("not UTF-8" in one for one in unseen)
    assert index.refresh().unseen == unseen


def test_a_watched_name_that_is_no_utf8_keeps_nothing_from_being_found(tmp_path: Path) -> None:
    root = written(tmp_path / "notes", {"good.md": "heron", ".vademecumignore": "*.tmp\n"})
    index = index_of(root)
    if not index.watch():
        pytest.skip("the system does not tell of changes here")
    index.refresh()
    (root / os.fsdecode(b"bad\xff.md")).write_text("heron")
    (root / "new.md").write_text("heron")
    index.refresh()
    index.close()
    assert matches(index, "heron") == ["good.md", "new.md"]


def test_search_and_doctor_say_what_could_not_be_looked_at(vm: Vademecum, capsys: pytest.CaptureFixture[str]) -> None:
    vault = vault_of(vm)
    deep_folder(vault)
    (vault / os.fsdecode(b"bad\xff.md")).write_text("heron")
    found = vm.wiki.search("heron")
    assert [hit.page for hit in found.results] == ["good.md"]
    assert "cannot be listed" in found.hint
    assert "not UTF-8" in found.hint
    run_command(["--home", str(vm.home.root), "doctor", "--json"])
    told = [one for one in json.loads(capsys.readouterr().out)["results"] if one["check"] == "pages"]
    assert [one["state"] for one in told] == ["ok", "warn", "warn"]
    assert all("Nothing of its text is searched" in one["hint"] for one in told[1:])


def test_doctor_does_not_say_of_a_page_that_cannot_be_read_that_it_is_searched(
    vm: Vademecum, capsys: pytest.CaptureFixture[str]
) -> None:
    with (vault_of(vm) / "huge.md").open("wb") as stream:
        stream.truncate(300 * 1024 * 1024)
    vm.wiki.refresh()
    run_command(["--home", str(vm.home.root), "doctor", "--json"])
    [told] = [one for one in json.loads(capsys.readouterr().out)["results"] if "huge.md" in one["message"]]
    assert told["hint"].startswith("Nothing of its text is searched")


# --- a line that is longer than an answer


def read_on(vm: Vademecum, page: str, **how: object) -> list[str]:
    """The texts of all parts of a page, by what each says to ask for next."""
    parts = [vm.wiki.read(page, **how)]  # type: ignore[arg-type]
    while parts[-1].next:
        assert len(parts) < 100
        parts.append(vm.wiki.read(page, lines=parts[-1].next, budget=how["budget"]))  # type: ignore[arg-type]
    return [one.text for one in parts]


def test_all_of_a_very_long_line_is_read_part_by_part(vm: Vademecum) -> None:
    line = " ".join(f"wörd{number}" for number in range(3_000))
    written(vault_of(vm), {"long.md": f"# Long\n\n{line}\nlast\n"})
    parts = read_on(vm, "long", lines="L3", budget=1_000)
    assert "".join(parts) == line
    assert len(parts) > 3
    first, *inside, end = read_on(vm, "long", lines="L1-L4", budget=1_000)
    assert first == "# Long\n"
    assert "".join(inside) + end == f"{line}\nlast"
    assert vm.wiki.read("long", lines="L3", budget=1_000).next.startswith("L3@")
    part = vm.wiki.read("long#L3@24000")
    assert part.lines == "long.md#L3@24000"
    assert line.endswith(part.text)


def test_a_letter_that_is_longer_than_the_budget_is_given_all_the_same(vm: Vademecum) -> None:
    written(vault_of(vm), {"cjk.md": "猫" * 40})
    assert "".join(read_on(vm, "cjk", budget=1)) == "猫" * 40


def test_hits_in_one_long_line_have_places_of_their_own(vm: Vademecum) -> None:
    line = " ".join("quokka" if number in (500, 1_500) else f"wörd{number}" for number in range(2_000))
    written(vault_of(vm), {"long.md": f"# Long\n\n{line}\n"})
    places = [hit.lines for hit in vm.wiki.search("quokka").results]
    assert len(set(places)) == 2
    for place in places:
        assert "quokka" in vm.wiki.read(place, budget=600).text


SECRET = "ghp_" + "Zk3" * 12


def test_no_part_shows_a_piece_of_a_secret_wherever_it_begins_and_ends(vm: Vademecum) -> None:
    written(vault_of(vm), {"key.md": f"{'x ' * 500}token {SECRET}{' y' * 500}\n", "pem.md": f"# Pem\n\n{PEM}\n"})
    at = 1_000 + len("token ")
    for cut in (at + 5, at + 20):
        assert SECRET[10:] not in vm.wiki.read("key", lines=f"L1@{cut}").text
    shown = "".join(read_on(vm, "key", budget=254))
    assert SECRET[:8] not in shown
    assert SECRET[-8:] not in shown
    assert "MIIEow" not in vm.wiki.read("pem", lines="L4-L5").text


PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890abcdefghijklmnopqrstuvwxyz\n"
    "abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdef1234\n-----END RSA PRIVATE KEY-----"
)


# --- names with a number sign


@pytest.mark.parametrize(
    ("ref", "first"),
    [
        ("C# notes.md", 1),
        ("C# notes", 1),
        ("[[C# notes]]", 1),
        ("vault:C# notes.md", 1),
        ("C# notes.md#L3-L4", 3),
        ("C# notes#Use#Deep", 5),
        ("C# notes#Use", 3),
        ("C# notes#^mark", 1),
        ("F#", 1),
        ("Issue #12", 1),
    ],
)
def test_a_page_with_a_number_sign_in_its_name_is_read(vm: Vademecum, ref: str, first: int) -> None:
    text = "# Languages\n\n## Use\ntext ^mark\n### Deep\nmore\n"
    written(vault_of(vm), {"C# notes.md": text, "F#.md": "# Eff\n", "x.md": "---\naliases: ['Issue #12']\n---\nx\n"})
    found = vm.wiki.read(ref)
    assert found.first == first
    assert found.page == {"F#": "F#.md", "Issue #12": "x.md"}.get(ref, "C# notes.md")


def test_a_link_to_such_a_page_leads_there_and_one_to_a_heading_where_it_did(vm: Vademecum) -> None:
    written(vault_of(vm), {
        "C# notes.md": "# Languages\n\n## Use\ntext ^mark\n",
        "C.md": "# C\n\n## notes\n\n## more\n",
        "from.md": "[[C# notes]] [[C# notes#Use|use]] ![[C# notes#^mark]] [[C#more]] [x](C%23%20notes.md#Use)\n",
        "wrong.md": "[[C# notes#Nowhere]]\n",
    })  # fmt: skip
    graph, page = vm.wiki.graph(), vm.wiki.page
    [wrong] = graph.broken()
    assert (wrong.page.path, wrong.why) == ("wrong.md", "its page has no such heading")
    ends = {one.raw: one.to for one in graph.outlinks(page("from"))}
    assert ends["[[C#more]]"] == page("C.md").id
    assert {end for raw, end in ends.items() if raw != "[[C#more]]"} == {page("C# notes.md").id}
    assert len(graph.backlinks(page("C# notes.md"))) == 5


# --- names that no answer may show as they are


@pytest.mark.parametrize(
    "name", [f"key {SECRET}.md", "left\u202eright.md", "red\x1b[31m.md", "two\nlines.md", "tab\there.md", "a\u200bb.md"]
)
def test_a_name_is_shown_inert_and_what_is_shown_is_read(
    vm: Vademecum, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(vault_of(vm), {name: "# Page\n\nThe quokka sleeps. [[Nowhere]]\n\nmore\n"})
    [hit] = vm.wiki.search("quokka sleeps").results
    read = vm.wiki.read(hit.page)
    shown = [hit.page, hit.lines, hit.title, read.page, read.lines, read.title]
    assert vm.wiki.read(hit.lines).first == 1
    assert vm.wiki.read(f"{hit.page}#L3").text == "The quokka sleeps. [[Nowhere]]"
    assert vm.wiki.page(f"vault:{hit.page}").path == name
    run_command(["--home", str(vm.home.root), "wiki", "lint"])
    run_command(["--home", str(vm.home.root), "wiki", "lint", "--json"])
    run_command(["--home", str(vm.home.root), "wiki", "links", hit.page, "--json"])
    run_command(["--home", str(vm.home.root), "wiki", "orphans", "--json"])
    printed = capsys.readouterr().out
    assert name not in "".join(shown)
    assert json.dumps(name)[1:-4] not in printed
    assert hit.page in printed
    for bad in (SECRET, "\u202e", "\x1b", "\u200b", "\\u202e", "\\u001b", "\\u200b", "\t"):
        assert bad not in "".join(shown) + printed
    with pytest.raises(NotFoundError) as missing:
        vm.wiki.read(hit.page, heading="Nowhere")
    assert name not in missing.value.message


# --- secrets and the index


@pytest.mark.parametrize("part", ["ghp_Zk3Zk3*", "ghp_Z*", SECRET, "Zk3Zk3*", "hunter2*", "MIIEow*"])
def test_no_letter_of_a_secret_can_be_found_by_searching_for_it(vm: Vademecum, part: str) -> None:
    text = f"# Keys\n\nThe token of the heron is {SECRET} here.\npassword = hunter2hunter2XY\n"
    written(vault_of(vm), {"a.md": text, "pem.md": PEM, f"of {SECRET}.md": "nothing else"})
    found = vm.wiki.search("token of the heron")
    assert found.results[0].page == "a.md"
    assert found.results[0].lines == "a.md#L1-L4"
    assert vm.wiki.search(part).results == ()
    with_part, with_nothing = (vm.wiki.search(f"token of the heron {end}").results for end in (part, "zzzqx"))
    assert [(one.page, one.why) for one in with_part] == [(one.page, one.why) for one in with_nothing]
    for place in found.results:
        assert SECRET not in place.snippet


def test_a_secret_that_is_appended_to_a_long_log_is_not_indexed_either(vm: Vademecum) -> None:
    log = "# Log\n\n" + "".join(f"- 2026-01-02T10:00:00Z entry {n}\n" for n in range(300))
    path = written(vault_of(vm), {"log.md": log}) / "log.md"
    vm.wiki.refresh()
    with path.open("a") as stream:
        stream.write(f"- 2026-01-03T10:00:00Z quokka token {SECRET}\n")
    assert vm.wiki.search("quokka").results
    assert vm.wiki.search(SECRET).results == ()


def test_hidden_text_has_the_same_length_and_lines_and_only_secrets_are_gone(vm: Vademecum) -> None:
    text = f"# Straße İstanbul\r\n{'word ' * 900}\n{PEM}\nkey: {SECRET}\nplain 2026-01-02T10:00:00Z text\n"
    hidden = vm.redactor.hidden(text)
    assert len(hidden) == len(text)
    assert hidden.count("\n") == text.count("\n")
    assert SECRET not in hidden
    assert "MIIEow" not in hidden
    assert hidden.split()[:900] == text.split()[:900]
    assert hidden.endswith("plain 2026-01-02T10:00:00Z text\n")


# --- no text at all


@pytest.mark.parametrize("kind", ["random", "program", "picture"])
def test_a_binary_file_that_is_called_a_page_is_found_by_its_name_only(vm: Vademecum, kind: str) -> None:
    data = {
        "random": random.Random(7).randbytes(50_000),
        "program": Path(sys.executable).read_bytes()[:200_000],
        "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20,
    }[kind]
    written(vault_of(vm), {"quokka.md": data + b"\nheron zyxword\n"})
    assert vm.wiki.search("zyxword").results == ()
    [hit] = vm.wiki.search("quokka").results
    assert (hit.page, hit.snippet) == ("quokka.md", "")
    assert [one.page for one in vm.wiki.search("heron").results] == ["good.md"]
    assert "no text" in vm.wiki.page("quokka").problem
    with pytest.raises(UnreadableError, match="no text"):
        vm.wiki.read("quokka")


@pytest.mark.parametrize(
    "data",
    ["Größe naïve façade".encode("latin-1"), b"\xfe\xff" + "naïve".encode("utf-16-be"), b"\x1b[31mred\x1b[0m naive"],
)
def test_a_text_of_an_odd_encoding_is_none_of_these(vm: Vademecum, data: bytes) -> None:
    written(vault_of(vm), {"odd.md": data})
    assert [one.page for one in vm.wiki.search("naive").results] == ["odd.md"]


# --- small things


def test_links_of_another_source_speak_for_no_page_of_that_name(tmp_path: Path) -> None:
    other = written(tmp_path / "other", {f"{n}.md": "[[Guide|quokka manual]]\n" for n in range(9)})
    config = {"wiki": {"sources": [{"path": str(other), "name": "other"}]}}
    with vademecum.open(tmp_path / "home", config=config) as vm:
        written(vault_of(vm), {"Guide.md": "# Guide\n\nThe heron stands.\n", "to.md": "[[Guide]]\n"})
        hit = next(hit for hit in vm.wiki.search("heron stands").results if hit.page == "Guide.md")
        assert "1 link to it" in hit.why
        assert "Guide.md" not in [hit.page for hit in vm.wiki.search("quokka manual").results]


def test_links_to_files_and_folders_that_are_there_are_not_broken(vm: Vademecum) -> None:
    written(vault_of(vm), {
        "Sub/from.md": "[[pic.png]] ![[Files/pic.png]] [x](../Files) [y](../Files/) [[Files]] [z](../Makefile)"
        " [[Makefile]] [w](../.github/ci.yml) [v](near) [u](../Files/odd%20name.pdf)\n",
        "Files/pic.png": b"x", "Files/odd name.pdf": b"x", "Makefile": "x", ".github/ci.yml": "x",
        "Sub/near/a.txt": "x",
        "wrong.md": "[[Nofiles]] [y](Files/none.png)\n",
    })  # fmt: skip
    assert [one.link.raw for one in vm.wiki.graph().broken()] == ["[[Nofiles]]", "[y](Files/none.png)"]


def test_a_sign_that_stands_nowhere_is_named_in_the_answer(vm: Vademecum) -> None:
    assert "found nowhere: 😀." in vm.wiki.search("😀").hint


def test_a_model_lists_the_newest_of_a_tag_without_words(vm: Vademecum) -> None:
    written(vault_of(vm), {"tagged.md": "---\ntags: [birds]\n---\n# Tagged\n\nquokka\n"})
    with vm.session() as session:
        answer = session.tool("wiki_search", {"query": "", "tags": ["birds"]})
        assert [hit["page"] for hit in answer["results"]] == ["tagged.md"]
        assert answer["results"][0]["origin"] == "file"
        assert session.tool("wiki_search", {"query": ""})["success"] is False


def test_a_folder_of_the_wiki_that_leads_out_of_the_vault_is_not_written_to(tmp_path: Path) -> None:
    with knowing(tmp_path / "home") as vm:
        outside = tmp_path / "outside"
        outside.mkdir()
        (vault_of(vm) / "Wiki").mkdir(parents=True, exist_ok=True)
        (vault_of(vm) / "Wiki" / "Entities").symlink_to(outside)
        left = [one for one in compiled(vm).pages if one.outcome == "left"]
        assert left
        assert all("leads out" in one.why for one in left)
        assert list(outside.iterdir()) == []
