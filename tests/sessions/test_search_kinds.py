"""What people type, each with a message that must be found and some that must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vademecum.sessions import History

# ruff: noqa: E501  one kind a line reads as a table
# kind, what was said, what is typed, what else was said and is not meant
KINDS = [
    ("e-mail address", "write to ana.lopez+news@mail.example.org please", "ana.lopez+news@mail.example.org", ["ana wrote a mail", "lopez has news"]),
    ("path", "the settings are in /home/ana/.config/app/settings.toml", "/home/ana/.config/app/settings.toml", ["ana is at home", "the app settings"]),
    ("end of a path", "the settings are in /home/ana/.config/app/settings.toml", "app/settings.toml", ["this app has many settings"]),
    ("Windows path", r"see C:\Users\Ana\notes.txt", r"C:\Users\Ana\notes.txt", ["Ana takes notes"]),
    ("URL", "look at https://docs.example.org/guide/install?x=1#top", "https://docs.example.org/guide/install?x=1#top", ["the install guide"]),
    ("host of a URL", "look at https://docs.example.org/guide/install?x=1#top", "docs.example.org", ["an example of docs"]),
    ("issue number", "this is fixed by #1234", "#1234", ["it costs 1234 euros"]),
    ("contraction", "I don't like olives", "don't", ["I like olives", "do it today"]),
    ("contraction with a curly apostrophe", "I don’t like olives", "don't", ["I like olives"]),
    ("contraction without its apostrophe", "I can't eat olives", "cant", ["I can eat olives"]),
    ("name with an apostrophe", "Ms O'Brien will call", "O'Brien", ["Brian will call"]),
    ("name without its apostrophe", "Ms O'Brien will call", "obrien", ["Brian will call"]),
    ("emoji", "the release went well 🎉", "🎉", ["the release went badly 😢", "the release went"]),
    ("emoji with a skin tone", "fine by me 👍🏽", "👍", ["fine by me"]),
    ("family emoji", "holidays with 👨‍👩‍👧", "👨‍👩‍👧", ["holidays with friends 👋"]),
    ("dot file", "put it into .bashrc", ".bashrc", ["put it into the bash history"]),
    ("C++", "we port it to C++ now", "C++", ["vitamin C is healthy", "plan c it is", "C# is fine too"]),
    ("C#", "we port it to C# now", "C#", ["vitamin C is healthy", "C++ is fine too"]),
    ("version", "upgrade to v1.2.3 tonight", "v1.2.3", ["upgrade to v1.2.4", "v1 was nicer"]),
    ("version without its v", "upgrade to v1.2.3 tonight", "1.2.3", ["upgrade to v1.2.4"]),
    ("node.js", "the backend runs on node.js", "nodejs", ["a node in the graph"]),
    ("hyphenated name", "the model is gpt-4", "gpt4", ["gpt is a partition table"]),
    ("hyphenated name, other way", "the model is gpt4", "gpt-4", ["gpt is a partition table"]),
    ("snake_case", "call fetch_user_name first", "fetch_user_name", ["fetch the name of a user"]),
    ("camelCase by its words", "call fetchUserName first", "fetch user name", ["call the name"]),
    ("snake_case by camelCase", "call fetch_user_name first", "fetchUserName", ["fetch the name"]),
    ("flag", "run it with --dry-run", "--dry-run", ["the river runs dry"]),
    ("diacritics typed", "meet in Zürich", "Zürich", ["meet in Bern"]),
    ("diacritics left out", "déjà vu in São Paulo and Łódź", "sao paulo lodz", ["Paul was there"]),
    ("decomposed form", "cafe\u0301 at noon", "café", ["tea at noon"]),
    ("full width", "ＡＢＣ番号", "abc", ["def"]),
    ("ß", "Hauptstraße 5", "hauptstrasse", ["Hauptbahnhof"]),
    ("Greek accents", "η απόφαση ήταν καλή", "αποφαση", ["καλή μέρα"]),
    ("ё", "самолёт в семь", "самолет", ["поезд в семь"]),
    ("soft hyphen", "the pass\u00adword manager", "password", ["the manager"]),
    ("one Chinese character", "我喜欢猫", "猫", ["我喜欢狗"]),
    ("two Chinese characters", "我们的数据库很慢", "数据", ["我们很慢"]),
    ("Chinese question", "我们决定用数据库迁移工具", "我们上次决定用什么数据库", ["今天天气很好"]),
    ("Japanese", "東京で会議があります", "会議", ["大阪へ行きます"]),
    ("Korean with a particle", "서울에서 만나요", "서울", ["부산에서 만나요"]),
    ("Thai", "เราจะไปที่ร้านอาหารพรุ่งนี้", "อาหาร", ["เราจะไปโรงเรียน"]),
    ("Thai question", "เราจะไปที่ร้านอาหารพรุ่งนี้", "ร้านอาหารที่ไหน", ["ฝนตกหนัก"]),
    ("Hindi", "हिन्दी में लिखो", "हिन्दी", ["हद में रहो"]),
    ("Arabic without marks", "اجتماع مُهِمّ غدا", "مهم", ["اجتماع غدا"]),
    ("quoted phrase", "the red door is open", '"red door"', ["the door is red", "a red, wide door"]),
    ("quoted word", "running is fun", '"running"', []),
    ("question", "we decided to take PostgreSQL for the ledger", "what did we decide about the ledger?", ["what did you do about it", "the weather"]),
    ("German question", "Wir haben uns für PostgreSQL entschieden", "warum haben wir uns für PostgreSQL entschieden?", ["haben wir noch Brot"]),
    ("inflection", "the deployments were rolled back", "deployment roll back", ["a loaf of bread"]),
    ("typo: swapped letters", "the kubernetes cluster is down", "kuberentes", ["the weather"]),
    ("typo: missing letter", "the invoice was paid", "invoce", ["the weather"]),
    ("typo: first letter", "the invoice was paid", "onvoice", ["the weather"]),
    ("typo: two slips", "the accommodation is booked", "acomodation", ["the weather"]),
    ("beginning of a word", "the kubernetes cluster is down", "kube", ["the weather"]),
    ("beginning with a star", "the kubernetes cluster is down", "kuber*", ["the weather"]),
    ("quote that is never closed", "the red door is open", '"red door', ["a blue window"]),
    ("operators as words", "salt AND pepper", "salt AND (pepper", ["sugar"]),
    ("column syntax", "title: the red door", "title:red", ["blue"]),
    ("only stop words", "to be or not to be, he said", "to be or not to be", []),
    ("punctuation in between", "deploy failed: exit code 137", "exit code: 137!", ["code review"]),
    ("upper case", "the STAGING server", "staging SERVER", ["the cook"]),
    ("arrow as a symbol", "a → b", "→", ["a b"]),
]  # fmt: skip


@pytest.mark.parametrize(("said", "typed", "others"), [row[1:] for row in KINDS], ids=[row[0] for row in KINDS])
def test_what_people_type_finds_what_they_mean(
    history: History, say: Callable[..., int], said: str, typed: str, others: list[str]
) -> None:
    for number in range(3):
        say(f"nothing to do with it, number {number}", key=f"filler {number}")
    meant = say(said, key="meant")
    wrong = {say(other, key=f"other {number}") for number, other in enumerate(others)}

    found = [hit.message_id for hit in history.search(typed).results]

    assert found[:1] == [meant]
    assert not wrong & set(found)
