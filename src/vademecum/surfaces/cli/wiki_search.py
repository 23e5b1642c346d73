"""`vademecum wiki search`, `read`, `links` and `orphans`: what is written, found and read again.

Idea: a hit is its place, who wrote it and when, and a piece of it; a page comes part by part. Invariant: nothing here
writes, and text of a page can never drive the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vademecum.surfaces.cli.app import App, Command
from vademecum.surfaces.cli.output import ago, moment, plural, printable
from vademecum.surfaces.cli.session import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vademecum.wiki.answer import WikiHit, WikiPage
    from vademecum.wiki.types import Link, PageHead
    from vademecum.wiki.wiki import Wiki

_STEP = 500  # files between two lines of progress


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="[QUERY]...")
@click.option("--source", "sources", multiple=True, help="Only pages of this source; repeatable.")
@click.option("--tag", "tags", multiple=True, help="Only what has this tag, or one below it; repeatable.")
@click.option("--type", "types", multiple=True, help="Only pages of this `type` in their front matter; repeatable.")
@click.option("--since", metavar="TIME", help="Only what was written from then on: a date, or words.")
@click.option("--limit", "-n", type=click.IntRange(1, 50), default=10, show_default=True, help="At most so many.")
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", default=4000, help="At most so many tokens [4000].")
@click.option("--meaning", is_flag=True, help="By meaning as well: loads the embedder, about a second.")
@click.option("--explain", is_flag=True, help="Also why each was found, and how the question was read.")
@click.pass_obj
def search(app: App, words: tuple[str, ...], *, meaning: bool, explain: bool, **how: Any) -> None:
    """Search the vault and the folders of `wiki.sources`.

    \b
    vademecum wiki search "how do we restore a backup"
    vademecum wiki search "C++" --tag infra --since "last March"

    Without QUERY the newest of what the options let through.
    """
    wiki = app.vm.wiki
    wiki.refresh(progress=_progress(app))
    found = wiki.search(
        " ".join(words),
        sources=how["sources"] or None,
        tags=how["tags"] or None,
        types=how["types"] or None,
        since=_since(app, how["since"]),
        limit=how["limit"],
        budget=how["budget"],
        vectors=True if meaning else None,
    )
    if app.json:
        app.emit_list([hit_json(hit) for hit in found.results], query=found.understood, hint=found.hint)
        return
    for position, hit in enumerate(found.results):
        for line in [*([""] if position else []), *_lines(app, hit, explain=explain)]:
            print(line)
    if not found.results:
        print("Nothing found.")
    style = app.style
    if not found.results or explain:
        print(("\n" if found.results else "") + style.dim(f"Read as: {printable(found.understood)}."))
    if found.hint:
        print(style.dim(sentence(printable(found.hint))))


@click.command(cls=Command)
@click.argument("page")
@click.option("--lines", metavar="L10-L24", help="Only these lines.")
@click.option("--heading", help="Only what stands under this heading.")
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", default=20_000, help="At most so many [20000].")
@click.pass_obj
def read(app: App, page: str, *, lines: str | None, heading: str | None, budget: int) -> None:
    """Print a page, by its path, name, title or alias; `PAGE#heading`, `PAGE#^block` and `PAGE#L10-L24` work too."""
    found = app.vm.wiki.read(page, lines=lines, heading=heading, budget=budget)
    app.emit(page_json(found), printable(found.text))
    style = app.style
    notes = [f"{found.lines} of {found.of:,} lines"]
    notes += [f"by {found.author}"] if found.author else []
    notes += [f"go on with --lines {found.next}"] if found.next else []
    app.note(" · ".join(map(printable, notes)))
    if found.problem:
        app.note(style.warn(printable(f"{found.page}: {found.problem}")))


@click.command(cls=Command)
@click.argument("page")
@click.option("--depth", type=click.IntRange(1, 5), metavar="N", help="Also the pages so many links away.")
@click.pass_obj
def links(app: App, page: str, *, depth: int | None) -> None:
    """What PAGE links to, what links to it, and with --depth what is near."""
    wiki = app.vm.wiki
    head, graph = wiki.page(page), wiki.graph()
    out, back = graph.outlinks(head), graph.backlinks(head)
    near = graph.neighbours(head, depth) if depth else {}
    numbers = {one.to for one in out if one.to is not None} | {one.page for one in back} | set(near)
    names = {n: wiki.shown(one) for n, one in wiki.index.heads(numbers).items()}
    data = {
        "page": wiki.shown(head),
        "outlinks": [_link_json(wiki, one, names.get(one.to or 0)) for one in out],
        "backlinks": [_link_json(wiki, one, names.get(one.page)) for one in back],
        "neighbours": [{"page": names[n], "distance": distance} for n, distance in near.items() if n in names],
    }
    style = app.style
    lines = [style.bold(printable(wiki.shown(head))), *_out_lines(app, out, names), *_back_lines(app, back, names)]
    lines += [f"  {distance} away  {printable(names[n])}" for n, distance in near.items() if n in names]
    app.emit(data, *lines)


@click.command(cls=Command)
@click.pass_obj
def orphans(app: App) -> None:
    """List the pages that no page links to and that link to none."""
    wiki = app.vm.wiki
    found = wiki.graph().orphans()
    rows = [
        {"page": wiki.shown(one), "title": wiki.inert(one.title), "modified": moment(one.modified_ms)} for one in found
    ]
    lines = [_named(wiki, one) for one in found]
    app.emit_list(rows, *(lines or ["Every page is linked with another one."]))


def _named(wiki: Wiki, one: PageHead) -> str:
    return printable(wiki.shown(one) if one.title == one.name else f"{wiki.shown(one)}  {wiki.inert(one.title)}")


def _since(app: App, given: str | None) -> int | None:
    if given is None:
        return None
    from vademecum.bank.recall.periods import time_given

    found = time_given(given, "--since", app.vm.clock())
    return None if found is None else found[0]


def _progress(app: App) -> Callable[[int, int], None]:
    def tell(done: int, of: int) -> None:
        if done and of > _STEP and done % _STEP == 0:
            app.note(f"{done:,} of {of:,} files read ...")

    return tell


def hit_json(hit: WikiHit) -> dict[str, object]:
    """A hit as scripts see it."""
    return {
        "page": hit.page,
        "lines": hit.lines,
        "heading": " > ".join(hit.heading),
        "snippet": hit.snippet,
        "score": hit.score,
        "why": hit.why,
        "title": hit.title,
        "author": hit.author,
        "time": moment(hit.time),
        "dated_by": hit.dated_by,
        "origin": hit.whence,
        "compiled": hit.compiled,
    }


def page_json(part: WikiPage) -> dict[str, object]:
    """A page, or a part of one, as scripts see it."""
    return {
        "page": part.page,
        "title": part.title,
        "lines": part.lines,
        "text": part.text,
        "of": part.of,
        "next": part.next,
        "headings": [{"line": line, "heading": text} for line, text in part.headings],
        "tags": list(part.tags),
        "type": part.type,
        "author": part.author,
        "time": moment(part.time),
        "dated_by": part.dated_by,
        "origin": part.whence,
        "problem": part.problem,
    }


def _lines(app: App, hit: WikiHit, *, explain: bool) -> list[str]:
    style, who = app.style, [ago(hit.time, app.vm.clock())]
    who += [printable(hit.author)] if hit.author else []
    head = style.accent(printable(hit.lines)) + style.dim(f"  {' · '.join(who)}")
    if hit.origin.kind == "connector":
        head += style.warn(f"  outside: {printable(hit.whence)}")
    lines = [head]
    if hit.heading:
        lines.append(style.bold(f"  {printable(' > '.join(hit.heading))}"))
    lines.append(style.indent(hit.snippet, "  "))
    if explain:
        lines.append(style.dim(f"  score {hit.score:.2f}; {printable(hit.why)}; dated by {hit.dated_by}"))
    return lines


def _link_json(wiki: Wiki, one: Link, page: str | None) -> dict[str, object]:
    told: dict[str, object] = {"page": page, "line": one.line, "kind": one.kind, "target": wiki.inert(one.target)}
    return told | {name: wiki.inert(getattr(one, name)) for name in ("text", "heading", "block")}


def _out_lines(app: App, out: Iterable[Link], names: dict[int, str]) -> list[str]:
    found = [
        f"  L{one.line} → {printable(names[one.to])}"
        if one.to in names
        else f"  L{one.line} → {app.style.warn(printable(app.vm.wiki.inert(one.target or one.raw)))} (no such page)"
        for one in out
    ]
    return found or ["  links to no page"]


def _back_lines(app: App, back: tuple[Link, ...], names: dict[int, str]) -> list[str]:
    lines = [f"  ← {printable(names.get(one.page, ''))}#L{one.line}" for one in back]
    return [app.style.dim(f"  {plural(len(back), 'backlink')}"), *lines]
