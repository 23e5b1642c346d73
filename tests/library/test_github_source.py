"""GitHub as a source of the library, against a server that PyGithub takes for GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import github as pygithub
import papers
import pytest
from github_case import filled, opened
from opened import NOON, Held

from servers.github import TOKEN, GitHubServer
from servers.github_content import Repo
from servers.rest import DROP, Fault
from vademecum.errors import NotFoundError, SourceError, UsageError
from vademecum.library.contract import Found
from vademecum.library.library import Library


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with GitHubServer() as made:
        yield made


@pytest.fixture
def clock() -> Held:
    return Held()


@pytest.fixture
def repo(server: GitHubServer) -> Repo:
    return filled(server)


@pytest.fixture
def lib(server: GitHubServer, tmp_path: Path, clock: Held) -> Iterator[Library]:
    made = opened(server, tmp_path, clock)
    yield made
    made.close()


def titles(found: Found) -> list[str]:
    return [one.title for one in found.items]


# --- the server is one that a client of GitHub takes for GitHub


def test_pygithub_takes_the_server_for_github(server: GitHubServer, repo: Repo) -> None:
    client = pygithub.Github(base_url=server.base, auth=pygithub.Auth.Token(TOKEN), per_page=1, retry=None)
    seen = client.get_repo("acme/heliotrope")
    assert (seen.full_name, seen.default_branch, seen.description) == (repo.name, "main", repo.description)
    issue = seen.get_issue(1)
    assert [label.name for label in issue.labels] == ["bug", "urgent"]
    assert [one.body for one in issue.get_comments()] == ["It is the relay."]
    assert [one.number for one in seen.get_issues(state="all", sort="updated", direction="asc")] == [2, 1]
    pull = seen.get_pull(2)
    assert [(one.filename, one.status) for one in pull.get_files()] == [
        ("src/heat.py", "modified"),
        ("logo.png", "added"),
    ]
    assert [(one.path, one.line) for one in pull.get_review_comments()] == [("src/heat.py", 1)]
    assert [one.state for one in pull.get_reviews()] == ["APPROVED"]
    assert [one.number for one in client.search_issues("heater is:issue repo:acme/heliotrope")] == [1]
    assert [one.path for one in client.search_code("pump repo:acme/heliotrope")] == ["src/deep/pump.py"]
    assert seen.get_contents("README.md").decoded_content == repo.files["main"]["README.md"]  # type: ignore[union-attr]
    assert [one.path for one in seen.get_git_tree("main", recursive=True).tree if one.type == "tree"] == [
        "src",
        "src/deep",
    ]
    assert seen.get_release("v1.0").body == "Heater fixed."
    server.faults.append(server.secondary())
    with pytest.raises(pygithub.RateLimitExceededException):
        seen.get_issue(1)
    client.close()


# --- search


@pytest.mark.usefixtures("repo")
def test_issues_and_pull_requests_are_found_together(lib: Library) -> None:
    found = lib.search("github", "heater")
    assert [(one.ref, one.kind) for one in found.items] == [
        ("github:acme/heliotrope#1", "issue"),
        ("github:acme/heliotrope#2", "pull-request"),
    ]
    first = found.items[0]
    assert first.detail == {"repo": "acme/heliotrope", "state": "open", "comments": "1", "labels": "bug, urgent"}
    assert first.authors == ("octocat",)
    assert first.revision == "2026-05-02T10:00:00Z"
    assert "heater never stops" in first.snippet
    assert found.cursor == ""


def test_every_result_is_shown_once_over_pages(server: GitHubServer, lib: Library) -> None:
    repo = server.repo("acme/many")
    for number in range(1, 26):
        server.issue(repo, number, f"lamp {number}", "", pull=number % 5 == 0)
    seen: list[str] = []
    cursor, rounds = "", 0
    while True:
        found = lib.search("github", "lamp", limit=4, cursor=cursor)
        assert len(found.items) <= 4
        seen += titles(found)
        cursor, rounds = found.cursor, rounds + 1
        if not cursor:
            break
    assert sorted(seen) == sorted(f"lamp {number}" for number in range(1, 26))
    assert rounds == 7


@pytest.mark.usefixtures("repo")
def test_filters_become_qualifiers(server: GitHubServer, lib: Library) -> None:
    lib.search("github", "heater label:bug", filters={"kind": "issue", "repo": "acme/heliotrope", "state": "open"})
    assert server.requests[-1].query["q"] == "heater label:bug is:issue repo:acme/heliotrope state:open"
    assert server.requests[-1].headers["x-github-api-version"] == "2022-11-28"


@pytest.mark.usefixtures("repo")
def test_code_is_found_with_a_token_and_its_ref_can_be_read(lib: Library) -> None:
    found = lib.search("github", "PUMP", filters={"kind": "code"})
    assert [one.ref for one in found.items] == ["github:acme/heliotrope:src/deep/pump.py"]
    assert "PUMP = 1" in found.items[0].snippet
    assert lib.read(found.items[0].ref).text == "PUMP = 1\n"


def test_code_search_without_a_token_says_what_is_missing_and_asks_nothing(
    server: GitHubServer, tmp_path: Path, clock: Held
) -> None:
    lib = opened(server, tmp_path, clock, token="")
    with pytest.raises(SourceError) as caught:
        lib.search("github", "pump", filters={"kind": "code"})
    assert "GITHUB_TOKEN" in caught.value.hint
    assert server.requests == []
    lib.close()


@pytest.mark.usefixtures("repo")
def test_releases_and_repositories_are_found(lib: Library) -> None:
    releases = lib.search("github", "heater", filters={"kind": "release", "repo": "acme/heliotrope"})
    assert [one.ref for one in releases.items] == ["github:acme/heliotrope/releases/v1.0"]
    assert [one.ref for one in lib.search("github", "greenhouse", filters={"kind": "repository"}).items] == [
        "github:acme/heliotrope"
    ]


def test_nothing_of_other_repositories_is_shown_whatever_the_query_says(
    server: GitHubServer, repo: Repo, tmp_path: Path, clock: Held
) -> None:
    other = server.repo("evil/plans", private=True)
    server.issue(other, 7, "heater secrets", "heater")
    lib = opened(server, tmp_path, clock, repos=["acme/*"])
    with pytest.raises(UsageError):
        lib.search("github", "heater repo:evil/plans")
    assert {one.detail["repo"] for one in lib.search("github", "heater").items} == {repo.name}
    with pytest.raises(UsageError):
        lib.read("github:evil/plans#7")
    with pytest.raises(UsageError):
        lib.search("github", "heater", filters={"repo": "evil/plans"})
    lib.close()


@pytest.mark.parametrize(
    "query",
    [
        "plans repo:evil/plans", "plans REPO:evil/plans", 'plans repo:"evil/plans"', "org:evil", "user: evil",
        "-repo:evil/x", "plans owner:evil", "enterprise:evil", "(plans repo:evil/plans)", "user:acme",
        "relay OR plans", "relay | plans",
    ],
)  # fmt: skip
def test_a_query_that_reaches_beyond_the_repositories_is_not_sent(
    server: GitHubServer, clock: Held, tmp_path: Path, query: str
) -> None:
    lib = opened(server, tmp_path, clock, repos=["acme/heliotrope"])
    with pytest.raises(UsageError):
        lib.search("github", query)
    assert server.requests == []
    lib.close()


def test_a_query_that_leaves_a_repository_out_stays_within_the_others(
    server: GitHubServer, clock: Held, tmp_path: Path
) -> None:
    filled(server)
    lib = opened(server, tmp_path, clock, repos=["acme/heliotrope"])
    lib.search("github", "heater -repo:acme/heliotrope")
    assert all(" repo:acme/heliotrope" in one.query["q"] for one in server.requests)
    lib.close()


def test_a_repository_that_does_not_exist_is_told(lib: Library) -> None:
    with pytest.raises(UsageError) as caught:
        lib.search("github", "x", filters={"repo": "acme/nothing", "kind": "issue"})
    assert "Validation Failed" in caught.value.message


def test_a_cursor_of_somebody_else_is_refused(lib: Library) -> None:
    with pytest.raises(UsageError):
        lib.search("github", "x", cursor="page 2")


# --- reading


@pytest.mark.usefixtures("repo")
def test_an_issue_is_read_with_its_comments(lib: Library) -> None:
    found = lib.read("github:acme/heliotrope#1")
    assert found.text == (
        "# Heater stays on\n\nState: open; labels: bug, urgent.\n\n"
        "## octocat opened, 2026-05-01 10:00:00 UTC\n\nThe heater never stops.\nSince Monday.\n\n"
        "## ada commented, 2026-05-02 10:00:00 UTC\n\nIt is the relay."
    )
    assert (found.url, found.parts, found.next) == ("https://github.com/acme/heliotrope/issues/1", (), "")


@pytest.mark.parametrize(
    ("id_", "title"),
    [
        ("https://github.example/acme/heliotrope/issues/1", None),
        ("acme/heliotrope/pull/2", "Replace the relay"),
        ("acme/heliotrope/issues/1#issuecomment-5", "Heater stays on"),
        ("acme/heliotrope@v1:README.md", "acme/heliotrope: README.md at v1"),
        ("acme/heliotrope:", "acme/heliotrope: /"),
        ("acme/heliotrope/releases/tag/v1.0", "acme/heliotrope v1.0: First light"),
        ("acme/heliotrope/releases/latest", "acme/heliotrope v1.0: First light"),
    ],
)
@pytest.mark.usefixtures("repo")
def test_a_thing_is_named_as_people_write_it(lib: Library, id_: str, title: str | None) -> None:
    if title is None:
        with pytest.raises(UsageError):
            lib.read(f"github:{id_}")
    else:
        assert lib.read(f"github:{id_}").title == title


@pytest.mark.usefixtures("repo")
def test_the_address_of_a_file_is_a_ref(server: GitHubServer, lib: Library) -> None:
    found = lib.read(f"github:{server.url}/acme/heliotrope/blob/v1/README.md")
    assert (found.ref, found.text) == ("github:acme/heliotrope@v1:README.md", "# Old\n")


@pytest.mark.parametrize(
    "id_", ["acme/heliotrope:../../../user", "acme/heliotrope:a/../b", "acme/..", "acme/heliotrope/releases/../../x",
            "../../user", "acme", "acme/heliotrope/actions/secrets", "acme/heliotrope:%2e%2e/x"],
)  # fmt: skip
@pytest.mark.usefixtures("repo")
def test_a_ref_never_becomes_another_route(server: GitHubServer, lib: Library, id_: str) -> None:
    with pytest.raises((UsageError, NotFoundError)):
        lib.read(f"github:{id_}")
    assert all(one.path.startswith("/repos/acme/heliotrope/contents/%252e") for one in server.requests)


def test_a_long_conversation_is_read_in_parts(server: GitHubServer, lib: Library) -> None:
    repo = server.repo("acme/long")
    server.issue(repo, 3, "Long", "start")
    for number in range(1, 251):
        server.comment(repo, 3, f"remark {number}")
    first = lib.read("github:acme/long#3", budget=100_000)
    assert first.parts == ("conversation", "comments 101-200", "comments 201-250")
    assert (first.part, first.next) == ("conversation", "comments 101-200")
    assert "remark 100" in first.text
    assert "remark 101" not in first.text
    last = lib.read("github:acme/long#3", part="comments 201-250", budget=100_000)
    assert last.text.count("## hubot commented") == 50
    assert last.next == ""


@pytest.mark.usefixtures("repo")
def test_a_pull_request_has_its_reviews_and_its_diff(lib: Library) -> None:
    found = lib.read("github:acme/heliotrope#2")
    assert found.parts == ("conversation", "review comments 1-1", "files 1-2")
    assert "from acme:feature into acme:main; +1 -1 in 2 files." in found.text
    assert "## grace reviewed (approved), 2026-05-02 11:00:00 UTC\n\nLooks right." in found.text
    assert "## grace on src/heat.py:1" in lib.read("github:acme/heliotrope#2", part="review comments").text
    diff = lib.read("github:acme/heliotrope#2", part="files").text
    assert "```diff\n@@ -1 +1 @@\n-relay = 1\n+relay = 2\n```" in diff
    assert "GitHub gives no diff" in diff


def test_a_diff_is_bounded_and_says_so(server: GitHubServer, lib: Library) -> None:
    repo = server.repo("acme/big")
    server.issue(repo, 1, "Big", "", pull=True)
    for number in range(30):
        server.change(repo, 1, f"f{number}.txt", "+x\n" * 10_000)
    found = lib.read("github:acme/big#1", part="files", budget=1_000_000)
    assert len(found.text) < 450_000
    assert found.text.count("which are left out") == 30


@pytest.mark.usefixtures("repo")
def test_a_part_that_is_not_there_is_told_with_those_that_are(lib: Library) -> None:
    with pytest.raises(NotFoundError) as caught:
        lib.read("github:acme/heliotrope#1", part="files")
    assert "conversation" in caught.value.hint


@pytest.mark.usefixtures("repo")
def test_a_file_a_folder_and_a_repository_are_read(lib: Library) -> None:
    file = lib.read("github:acme/heliotrope:src/heat.py")
    assert (file.text, len(file.revision)) == ("def warm(): return 'wärm'\n", 40)
    assert lib.read("github:acme/heliotrope:src").text == "- deep/\n- heat.py (27 bytes)"
    whole = lib.read("github:acme/heliotrope")
    assert "A greenhouse in software." in whole.text
    assert "Keep plants warm." in whole.text
    assert "- src/deep/pump.py (9 bytes)" in lib.read("github:acme/heliotrope", part="files").text


def test_a_large_file_is_fetched_raw(server: GitHubServer, repo: Repo, lib: Library) -> None:
    repo.files["main"]["big.txt"] = b"line\n" * 300_000
    found = lib.read("github:acme/heliotrope:big.txt", budget=2_000_000)
    assert found.text == "line\n" * 300_000


@pytest.mark.usefixtures("repo")
def test_a_binary_file_is_no_text(lib: Library) -> None:
    with pytest.raises(SourceError) as caught:
        lib.read("github:acme/heliotrope:logo.png")
    assert "binary data" in caught.value.message
    assert caught.value.hint == "See https://github.com/acme/heliotrope/blob/main/logo.png."


def test_a_document_is_converted_and_a_text_is_read_in_its_encoding(repo: Repo, lib: Library) -> None:
    repo.files["main"] |= {
        "costs.xlsx": papers.xlsx(),
        "old.txt": "Wärme\r\n".encode("latin-1"),
        "bad.pdf": b"%PDF-1.4",
    }
    assert "| --- |" in lib.read("github:acme/heliotrope:costs.xlsx").text
    assert lib.read("github:acme/heliotrope:old.txt").text == "Wärme\n"
    with pytest.raises(SourceError):
        lib.read("github:acme/heliotrope:bad.pdf")


def test_an_issue_that_moved_away_is_shown_only_where_it_may_be(
    server: GitHubServer, repo: Repo, tmp_path: Path, clock: Held
) -> None:
    other = server.repo("evil/plans")
    server.issue(other, 7, "Moved", "here now")
    moved = Fault(301, b"{}", {"location": f"{server.base}/repos/evil/plans/issues/7"})
    lib, free = opened(server, tmp_path, clock, repos=[repo.name]), opened(server, tmp_path, clock)
    server.faults.extend([moved])
    with pytest.raises(UsageError):
        lib.read("github:acme/heliotrope#5")
    server.faults.extend([moved])
    assert free.read("github:acme/heliotrope#5").ref == "github:evil/plans#7"
    lib.close()
    free.close()


@pytest.mark.usefixtures("repo")
def test_an_enterprise_server_is_asked_at_its_own_address(tmp_path: Path, clock: Held) -> None:
    with GitHubServer(prefix="/api/v3") as server:
        filled(server)
        lib = opened(server, tmp_path, clock)
        assert lib.read("github:acme/heliotrope#1").title == "Heater stays on"
        assert server.requests[-1].path.startswith("/api/v3/repos/")
        lib.close()


# --- errors and limits


def test_a_deleted_issue_and_a_missing_one_are_not_found(server: GitHubServer, repo: Repo, lib: Library) -> None:
    repo.gone.add(1)
    for number in (1, 99):
        with pytest.raises(NotFoundError):
            lib.read(f"github:acme/heliotrope#{number}")


@pytest.mark.usefixtures("repo")
def test_a_private_repository_without_a_token_says_what_may_help(
    server: GitHubServer, tmp_path: Path, clock: Held
) -> None:
    server.repo("acme/secret", private=True)
    lib = opened(server, tmp_path, clock, token="")
    with pytest.raises(NotFoundError) as caught:
        lib.read("github:acme/secret")
    assert "GITHUB_TOKEN" in caught.value.hint
    lib.close()


@pytest.mark.usefixtures("repo")
def test_a_wrong_token_is_told_without_showing_it(server: GitHubServer, tmp_path: Path, clock: Held) -> None:
    lib = opened(server, tmp_path, clock, token="ghp_" + "x" * 36)
    with pytest.raises(SourceError) as caught:
        lib.read("github:acme/heliotrope#1")
    assert caught.value.status == 401
    assert "ghp_xx" not in str(caught.value.as_dict())
    lib.close()


@pytest.mark.usefixtures("repo")
def test_the_end_of_the_hourly_limit_is_told_and_kept(server: GitHubServer, tmp_path: Path, clock: Held) -> None:
    lib = opened(server, tmp_path, clock, token="")
    server.left, server.reset = 0, NOON // 1000 + 1800
    with pytest.raises(SourceError) as caught:
        lib.read("github:acme/heliotrope#1")
    assert caught.value.passing
    assert caught.value.retry_after == pytest.approx(1800)
    assert "5,000 requests" in caught.value.hint
    asked = len(server.requests)
    with pytest.raises(SourceError):
        lib.read("github:acme/heliotrope#2")
    assert len(server.requests) == asked
    server.left, clock.now = None, clock.now + 1_801_000
    assert lib.read("github:acme/heliotrope#2").title == "Replace the relay"
    lib.close()


@pytest.mark.usefixtures("repo")
@pytest.mark.parametrize("after", [45, None])
def test_a_secondary_limit_is_kept_whether_or_not_it_names_a_time(
    server: GitHubServer, lib: Library, clock: Held, after: int | None
) -> None:
    server.faults.append(server.secondary(after))
    with pytest.raises(SourceError) as caught:
        lib.read("github:acme/heliotrope#1")
    assert caught.value.passing
    assert caught.value.retry_after == pytest.approx(after or 60)
    with pytest.raises(SourceError):
        lib.read("github:acme/heliotrope#1")
    assert len(server.requests) == 1
    clock.now += 61_000
    assert lib.read("github:acme/heliotrope#1").title == "Heater stays on"


@pytest.mark.usefixtures("repo")
def test_a_short_wait_is_waited_for(server: GitHubServer, lib: Library, clock: Held) -> None:
    server.faults.append(server.secondary(3))
    assert lib.read("github:acme/heliotrope#1").title == "Heater stays on"
    assert clock.waited == [3.0]


@pytest.mark.usefixtures("repo")
def test_what_has_not_changed_costs_nothing_of_the_limit(server: GitHubServer, lib: Library) -> None:
    server.left = 50
    lib.read("github:acme/heliotrope:README.md")
    assert lib.read("github:acme/heliotrope:README.md", refresh=True).text.startswith("# Heliotrope")
    assert server.unchanged == 1
    assert server.left == 49


@pytest.mark.usefixtures("repo")
def test_without_a_network_the_copy_is_given_with_its_age(server: GitHubServer, lib: Library, clock: Held) -> None:
    lib.read("github:acme/heliotrope#1")
    clock.now += 86_400_000
    server.always = DROP
    old = lib.read("github:acme/heliotrope#1")
    assert (old.cached, old.fetched, old.title) == (True, NOON, "Heater stays on")
    assert "could not be reached" in old.problem
    with pytest.raises(SourceError):
        lib.read("github:acme/heliotrope#2")
