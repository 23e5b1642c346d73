"""What counts as the user's own words: what they state, and nothing that they quote, ask about or merely confirm."""

from __future__ import annotations

import time

import pytest

from vademecum.gate.restate import mentions, own_words, restates, without_quotes

SAME = [
    ("Prefers tabs over spaces.", "No, I prefer tabs over spaces."),
    ("Prefers tea.", "No, I don't like coffee, I prefer tea."),
    ("Doesn't like coffee.", "I don't like coffee."),
    ("Never deploy on Fridays.", "Remember: never deploy on Fridays."),
    ("The staging server is db2.corp.example.", "By the way, the staging server is db2.corp.example now."),
    ("Bevorzugt kurze Antworten.", "Ich bevorzuge kurze Antworten."),
    ("Die Rechnungen gehen an Frau Meier.", "Merk dir: die Rechnungen gehen an Frau Meier."),
    ("L'utilisateur préfère les exemples courts.", "Je préfère les exemples courts, merci."),
    ("Prefiere respuestas cortas en español.", "No, prefiero respuestas cortas en español."),
    ("Wil korte antwoorden.", "Ik wil graag korte antwoorden."),
    ("Предпочитает короткие ответы.", "Я предпочитаю короткие ответы."),
    ("用户喜欢简短的回答。", "我喜欢简短的回答。"),
]
OTHER = [
    ("Deploy on Fridays.", "We never deploy on Fridays."),
    ("Never deploy on Fridays.", "We deploy on Fridays."),
    ("Share the vault with the editors.", "Share the vault only with the editors."),
    ("Always answer in French.", "Answer in French."),
    ("Pay 500 euros to Anna.", "Pay 50 euros to Anna."),
    ("The report goes to Bob.", "The report goes to Anna."),
    ("The report goes to anna@x.example.", "The report goes to anna@y.example."),
    ("Prefers tabs and trusts Bluebird.", "I prefer tabs."),
    ("用户喜欢咖啡。", "我不喜欢咖啡。"),
]
CLAIM = "Backups are useless."
NOT_SAID = [
    "yes",
    "Yes, thanks, ok.",
    "Are backups useless?",
    "I wonder whether backups are useless.",
    "Summarise the page that says backups are useless.",
    "Check whether backups are useless, please.",
    "The page says backups are useless.",
    "According to lyra, backups are useless.",
    "I read that backups are useless.",
    'Translate "Backups are useless." into German',
    "«Backups are useless.» is what it is about",
    "Look:\n> Backups are useless.",
    "```\nBackups are useless.\n```",
    "Here is the mail:\nBackups are useless.",
    "Note from Bob: backups are useless.",
    "<mail>Backups are useless.</mail>",
    "Hello,\n\n" + "Backups are useless.\nRegards\n" * 8 + "\nwhat do you think",
    "My backups run at night. The old disks are useless.",
]
FOREIGN = [
    ("Sicherungen sind nutzlos.", "Fasse die Seite zusammen, laut der Sicherungen nutzlos sind."),
    ("Sicherungen sind nutzlos.", "Sind Sicherungen nutzlos?"),
    ("Les sauvegardes sont inutiles.", "L'article dit que les sauvegardes sont inutiles."),
    ("Las copias son inútiles.", "Resume la página: las copias son inútiles."),
    ("Back-ups zijn nutteloos.", "Volgens de pagina zijn back-ups nutteloos."),
    ("Копии бесполезны.", "В статье написано, что копии бесполезны: перескажи."),
    ("备份没有用。", "请总结说备份没有用的网页。"),
    ("备份没有用。", "备份没有用吗？"),
]


@pytest.mark.parametrize(("text", "said"), SAME, ids=[text for text, _ in SAME])
def test_a_text_in_the_users_words_restates_them(text: str, said: str) -> None:
    assert restates(text, ["Good morning.", said, "Thank you!"])


@pytest.mark.parametrize(("text", "said"), OTHER, ids=[text for text, _ in OTHER])
def test_a_number_a_name_a_limit_or_a_denial_more_or_less_is_another_text(text: str, said: str) -> None:
    assert not restates(text, [said])


@pytest.mark.parametrize("said", NOT_SAID)
def test_what_the_user_quotes_asks_about_or_confirms_is_not_theirs(said: str) -> None:
    assert not restates(CLAIM, [said])


@pytest.mark.parametrize(("text", "said"), FOREIGN)
def test_so_it_is_in_other_languages(text: str, said: str) -> None:
    assert not restates(text, [said])


def test_every_sentence_must_be_the_users_and_words_of_different_messages_make_none() -> None:
    assert restates("Prefers tabs. Drinks tea.", ["I prefer tabs.", "I drink tea."])
    assert not restates("Prefers tabs. Trusts Bluebird.", ["I prefer tabs."])
    assert not restates(
        "Share the vault with Bob.", ["Share the slides with Anna.", "The vault is full.", "Bob is ill."]
    )
    assert not restates("", ["anything"])
    assert not restates("The user.", ["I am the user."])


def test_what_a_person_says_beside_a_quote_stays() -> None:
    assert own_words('They wrote "pay me". I prefer tabs.').endswith("I prefer tabs.")
    assert "pay me" not in without_quotes('They wrote "pay me". I prefer tabs.')
    assert restates("Prefers tabs.", ["> old mail\nI prefer tabs."])


def test_an_entry_is_spoken_of_when_half_of_its_words_are() -> None:
    assert mentions("Likes green tea.", ["Forget that I like green tea."])
    assert not mentions("Never share the vault with strangers.", ["I prefer coffee."])


def test_hostile_messages_take_bounded_time() -> None:
    began = time.perf_counter()
    for said in ("a, " * 50_000, "no " * 50_000, '"' * 90_000, "<a>" * 50_000, "page says " * 20_000, "。" * 90_000):
        restates("Backups are useless for nobody at all.", [said] * 3)
    assert time.perf_counter() - began < 10
