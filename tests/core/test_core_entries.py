"""The text of a store: every entry comes back, every byte stays."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vademecum.core.entries import Document, clean, join, near_key, split

AWKWARD = st.lists(
    st.sampled_from(
        ["§", "\\§", "\\\\§", "§ ", " §", "\n", "\r\n", "\r", "a", "\\", "# b", "\ufeff", "---", "\t", "\u2028", "é"]
    )
).map("".join)
TEXTS = st.lists(st.one_of(st.text(max_size=40), AWKWARD).map(clean).filter(bool), max_size=8)
BYTES = st.one_of(
    st.binary(max_size=60),
    st.lists(
        st.sampled_from(
            [
                b"\n\xc2\xa7\n",
                b"\xc2\xa7",
                b"\xc2\xa7 \r\n",
                b"\r\n",
                b"\n",
                b"\\\xc2\xa7",
                b"a",
                b"\xff",
                b" ",
                b"\xef\xbb\xbf",
                b"\xff\xfe",
            ]
        )
    ).map(b"".join),
)


@given(TEXTS)
@example(["§"])
@example(["a\n§\nb", "\\§", "x\n\\\\§ \ny"])
def test_entries_come_back_through_the_files_form(texts: list[str]) -> None:
    assert list(split(join(texts))) == texts


@given(BYTES, TEXTS)
def test_entries_added_to_any_file_come_back_and_no_byte_of_it_is_lost(data: bytes, texts: list[str]) -> None:
    document = Document.decode(data)
    before = document.texts
    for text in texts:
        document = document.added(text)
    read = Document.decode(document.encode())
    assert read.texts == (*before, *texts)
    if document.encoding == "utf-8":
        tail = data.rstrip() and Document.decode(data).tail.encode()
        assert document.encode().startswith(data[: len(data) - len(tail or b"")] if before else b"")


@given(BYTES)
def test_a_file_that_is_read_and_written_back_has_the_same_bytes(data: bytes) -> None:
    assert Document.decode(data).encode() == data


@given(BYTES, st.integers(0, 20), st.text(max_size=20).map(clean).filter(bool))
@example(b"\x00\n\xc2\xa7\n\t\xc2\xa7", 0, "x")  # the indent is all that keeps `§` from being a delimiter
@example(b"a\n\xc2\xa7\n\xef\xbb\xbfb", 0, "x")  # a mark that comes to the start of the file
@example(b"\xfe\xff\x00\x00\x00\x00\n\xc2\xa7\t\t\n\x00", 1, "\x80")  # bytes that come to pass for UTF-16
def test_a_change_of_one_entry_keeps_the_others_to_the_byte(data: bytes, at: int, text: str) -> None:
    document = Document.decode(data)
    if not document.cores:
        return
    index = at % len(document.cores)
    others = document.cores[:index] + document.cores[index + 1 :]
    removed = Document.decode(document.removed(index).encode())
    replaced = Document.decode(document.replaced(index, text).encode())
    assert removed.cores == others
    assert replaced.texts == (*document.texts[:index], text, *document.texts[index + 1 :])
    assert replaced.cores[:index] + replaced.cores[index + 1 :] == others


@given(TEXTS)
def test_used_counts_the_characters_of_the_joined_text(texts: list[str]) -> None:
    document = Document.parse(join(texts))
    assert document.used == len(join(texts))
    windows = Document.parse(join(texts).replace("\n", "\r\n"))
    assert windows.used == len(join(texts))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User likes tea.", "user  likes TEA"),
        ("It's “quoted” – so", 'its "quoted" - so'.replace("its", "it's")),
        ("ﬁle size １２", "file size 12"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "café"),
    ],
)
def test_the_same_words_in_other_spelling_are_near(one: str, other: str) -> None:
    assert near_key(one) == near_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Use C", "Use C++"), ("limit is 1.5", "limit is 15"), ("offset -5", "offset 5"), ("bashrc", ".bashrc")],
)
def test_punctuation_that_means_something_keeps_entries_apart(one: str, other: str) -> None:
    assert near_key(one) != near_key(other)


def test_a_utf16_file_is_read_and_stays_in_utf16() -> None:
    data = "eins\r\n§\r\nzwei".encode("utf-16")
    document = Document.decode(data).added("drei")
    assert document.texts == ("eins", "zwei", "drei")
    assert document.encode().decode("utf-16") == "eins\r\n§\r\nzwei\r\n§\r\ndrei"
