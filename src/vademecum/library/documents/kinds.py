"""Which kind of document a file is, by its name and first bytes.

Idea: the name says what it should be, the first bytes overrule it where they can. Invariant: no file is opened here.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from vademecum.errors import UnreadableError

TEXT = frozenset({
    "", "txt", "text", "rst", "adoc", "asciidoc", "org", "tex", "log", "srt", "vtt", "nfo", "readme", "bib", "eml",
})  # fmt: skip
MARKDOWN = frozenset({"md", "markdown", "mdx", "mdown", "qmd"})
HTML = frozenset({"html", "htm", "xhtml"})
TABLES = {"csv": ",", "tsv": "\t"}
CODE = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "jsx": "jsx", "ts": "typescript",
    "tsx": "tsx", "java": "java", "kt": "kotlin", "go": "go", "rs": "rust", "c": "c", "h": "c", "cc": "cpp",
    "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "rb": "ruby", "php": "php", "swift": "swift", "scala": "scala",
    "sh": "sh", "bash": "sh", "zsh": "sh", "ps1": "powershell", "sql": "sql", "r": "r", "lua": "lua", "pl": "perl",
    "hs": "haskell", "ex": "elixir", "erl": "erlang", "clj": "clojure", "dart": "dart", "vue": "vue", "css": "css",
    "scss": "scss", "json": "json", "jsonl": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "ini": "ini",
    "cfg": "ini", "conf": "ini", "xml": "xml", "proto": "proto", "graphql": "graphql", "tf": "hcl", "diff": "diff",
    "patch": "diff", "dockerfile": "dockerfile", "makefile": "makefile", "ipynb": "json", "el": "lisp", "jl": "julia",
}  # fmt: skip
OFFICE = frozenset({"pdf", "docx", "pptx", "xlsx", "epub", "docm", "pptm", "xlsm"})
_OLD = {"doc", "xls", "ppt", "docx", "xlsx", "pptx", "docm", "pptm", "xlsm"}
_NAMES = frozenset({"readme", "license", "changelog", "authors", "notice", "dockerfile", "makefile", "copying", "todo"})


def suffix_of(name: str) -> str:
    """The end of a file's name in lower case, without its dot; the whole name of `Makefile` and the like."""
    path = PurePosixPath(name.replace("\\", "/"))
    stem = path.name.casefold()
    return stem if stem in _NAMES else path.suffix[1:].casefold()


def endings() -> frozenset[str]:
    """The ends of names that documents have: `.pdf`, or a whole name such as `makefile`."""
    known = TEXT | MARKDOWN | HTML | OFFICE | {*TABLES, *CODE, "doc", "xls", "ppt"}
    return frozenset(f".{one}" for one in known if one) | _NAMES


def readable(name: str) -> bool:
    """Whether a file of that name is a document: what else lies in a folder is passed over without a word."""
    suffix = suffix_of(name)
    if suffix == "":
        return False
    return (
        suffix in _NAMES
        or suffix in TEXT | MARKDOWN | HTML | OFFICE | {"doc", "xls", "ppt"}
        or suffix in {**CODE, **TABLES}
    )


def kind_of(name: str, head: bytes = b"") -> str:
    """`markdown`, `text`, `code`, `html`, `csv`, `pdf`, `docx`, `pptx`, `xlsx` or `epub`.

    `head` is the beginning of the file, at least 8 bytes when it has them. Raises UnreadableError for another kind.
    """
    suffix = suffix_of(name)
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        why = "is encrypted, or of a format from before 2007" if suffix in _OLD else "is a compound file"
        raise UnreadableError(f"{name} {why}.", "Open it in the program that made it, and save it without a password.")
    if suffix in OFFICE:
        return suffix.replace("docm", "docx").replace("pptm", "pptx").replace("xlsm", "xlsx")
    if suffix in HTML:
        return "html"
    if suffix in MARKDOWN:
        return "markdown"
    if suffix in TABLES:
        return "csv"
    if suffix in CODE:
        return "code"
    if suffix in TEXT or suffix in _NAMES:
        return "text"
    raise UnreadableError(f"{name}: a file of this kind ({suffix or 'no suffix'}) cannot be read as a document.")
