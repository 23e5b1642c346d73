"""What is worth remembering is recognised in seven languages, and the rest is left."""

from __future__ import annotations

import json
import re
import re._constants as constants
import re._parser as parser
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vademecum.bank.signals.cues import FORMS
from vademecum.bank.signals.sentences import sentences
from vademecum.bank.signals.signal import LANGUAGES, LONGEST_SENTENCE, LONGEST_TEXT, Signal, classify, expand, signals

LABELLED = Path(__file__).parent.parent / "data" / "signals"
RULES = Path(__file__).parent.parent.parent / "src" / "vademecum" / "bank" / "signals" / "rules"
RULE_FILES = sorted(RULES.glob("*.toml"))


def rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (LABELLED / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]


def share_right(labelled: list[list[str]]) -> tuple[float, list[str]]:
    read = [(branches.split("|"), classify(sentence)) for *_, branches, sentence in labelled]
    wrong = [f"{signal}: {branches}" for branches, signal in read if signal.branch not in branches]
    return 1 - len(wrong) / len(labelled), wrong


ALL_SETS = (*LANGUAGES, "second", "third", "fourth", "fifth", "strangers", "unseen")


# The labelled sentences


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_forty_labelled_sentences_and_about_half_are_to_skip(language: str) -> None:
    branches = Counter(branch for branch, _ in rows(language))
    assert branches.total() >= 40
    assert 0.45 <= branches["skip"] / branches.total() <= 0.55
    assert set(branches) == {
        "correction", "instruction", "preference", "environment", "convention", "workflow", "quirk", "skip"
    }  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_nine_branches_in_ten_are_right(language: str) -> None:
    labelled = [row for name in ALL_SETS for row in rows(name) if language in (name, row[0])]
    right, wrong = share_right(labelled)
    assert len(labelled) >= 120
    assert right >= 0.9, len(wrong)  # which ones is not to be seen here: some are in the set that nobody may look at


def test_nine_in_ten_of_what_strangers_say_are_right() -> None:
    right, wrong = share_right(rows("strangers"))
    assert right >= 0.9, wrong


def test_what_nobody_looked_at_is_read_about_as_well_and_hardly_anything_is_kept_by_mistake() -> None:
    right, wrong = share_right(rows("unseen"))
    assert right >= 0.85, len(wrong)
    kept = [branches for _, branches, sentence in rows("unseen") if classify(sentence).branch != "skip"]
    assert kept.count("skip") / len(kept) <= 0.06


# What a signal says


@pytest.mark.parametrize(
    ("sentence", "branch", "target"),
    [
        ("use pnpm instead of npm", "correction", "memory"),
        ("remember that invoices go out on the 3rd", "instruction", "memory"),
        ("from now on I prefer tabs", "instruction", "memory"),
        ("I prefer tabs", "preference", "user"),
        ("in this repo we use tabs", "convention", "memory"),
        ("the db runs on port 5433", "environment", "memory"),
        ("pytest hangs unless you pass -x", "quirk", "memory"),
        ("what worked was a reinstall", "workflow", "memory"),
        ("fix the test", "skip", None),
    ],
)
def test_the_decision_tree_says_where_it_goes(sentence: str, branch: str, target: str | None) -> None:
    signal = classify(sentence)
    assert (signal.branch, signal.target) == (branch, target)
    assert signal.reason


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("Please remember that the demo tenant must stay.", "the demo tenant must stay."),
        ("ok, from now on answer in German please", "answer in German"),
        ("Merk dir bitte, dass wir pnpm nehmen", "wir pnpm nehmen"),
        ("Ab jetzt bitte immer auf Deutsch antworten", "immer auf Deutsch antworten"),
        ("N'oublie pas que le vendredi on ne déploie pas", "le vendredi on ne déploie pas"),
        ("recuerda que los viernes no desplegamos", "los viernes no desplegamos"),
        ("onthoud dat we pnpm gebruiken", "we pnpm gebruiken"),
        ("запомни, что демо-тенант нельзя удалять", "демо-тенант нельзя удалять"),
        ("请记住，演示租户绝对不能删", "演示租户绝对不能删"),
        ("remember this", "remember this"),
        ("don't do that again", "don't do that again"),
    ],
)
def test_the_statement_is_the_sentence_in_the_persons_words_without_the_formula(sentence: str, statement: str) -> None:
    signal = classify(sentence)
    assert signal.branch != "skip"
    assert signal.statement == statement


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("we use pnpm in this repo", "en"),
        ("wir nehmen in diesem Repo pnpm", "de"),
        ("dans ce dépôt on utilise pnpm", "fr"),
        ("en este repo usamos pnpm", "es"),
        ("in deze repo gebruiken we pnpm", "nl"),
        ("в этом репозитории мы используем pnpm", "ru"),
        ("这个仓库里统一用pnpm", "zh"),
    ],
)
def test_the_language_is_told_although_the_tools_are_english(sentence: str, language: str) -> None:
    signal = classify(sentence)
    assert (signal.branch, signal.language) == ("convention", language)
    assert signal.rule.startswith(f"{language}.")


@pytest.mark.parametrize(
    "sentence", ["このリポジトリでは常にタブを使います", "תמיד תריץ את הבדיקות", "دائما شغل الاختبارات"]
)
def test_a_language_without_rules_is_skipped(sentence: str) -> None:
    assert classify(sentence).rule == "any.language"


@pytest.mark.parametrize(
    ("accented", "bare"),
    [("arrête de mettre des commentaires", "arrete de mettre des commentaires"), ("llámame Jo", "llamame Jo"),
     ("I’m vegetarian, so no meat", "I'm vegetarian, so no meat")],
)  # fmt: skip
def test_accents_and_typographic_apostrophes_change_nothing(accented: str, bare: str) -> None:
    assert classify(accented).rule == classify(bare).rule
    assert classify(accented).branch != "skip"


@pytest.mark.parametrize(
    ("lasting", "passing"),
    [
        ("don't ever use that again", "don't use that file again in this test run"),
        ("I like short answers", "I like that idea"),
        ("I prefer tabs over spaces", "I prefer option B"),
        ("use uv instead of pip", "use the second screenshot instead"),
        ("remember that the key is in the drawer", "do you remember that the key is in the drawer?"),
        ("always answer in French", "always answer in French for this session"),
        ("no, it is port 5433", "no, that is fine"),
    ],
)
def test_what_holds_only_now_is_told_from_what_lasts(lasting: str, passing: str) -> None:
    assert classify(lasting).branch != "skip"
    assert classify(passing).branch == "skip"


@pytest.mark.parametrize(
    "sentence",
    [
        "Suppose I prefer tabs, what would change?",
        "If we were on postgres I'd use a partial index",
        "He thinks I prefer dark mode",
        'the readme says "never commit generated files"',
        "Angenommen ich mag keine Klassen",
        "mein Chef sagt, wir nehmen immer Tabs",
        "Imagine que je préfère le thé",
        "d'après la doc il faut toujours fermer la connexion",
        "Supongamos que prefiero el té",
        "mi jefe dice que siempre usemos tabuladores",
        "Stel dat ik liever thee drink",
        "hij zegt dat ik altijd tabs gebruik",
        "Допустим, я люблю чай",
        "он говорит, что мы всегда пишем табами",
        "假设我喜欢喝茶",
        "他说我们一律用tab",
    ],
)
def test_what_is_supposed_or_said_by_others_is_nobodys_preference(sentence: str) -> None:
    signal = classify(sentence)
    assert signal.branch == "skip"
    assert signal.rule.partition(".")[2] in ("imagined", "hearsay", "question"), signal


def test_where_no_rule_is_sure_the_cues_that_weighed_most_are_named() -> None:
    signal = classify("the dishwasher throws E24 unless you push the hose back a bit")
    assert (signal.branch, signal.rule) == ("quirk", "en.cues")
    assert signal.reason.startswith("reads like what is kept as quirk: ")
    assert "(unless)" in signal.reason or "(throws)" in signal.reason


def test_the_weights_are_of_cues_that_the_rule_files_have() -> None:
    weights = json.loads((RULES / "weights.json").read_text(encoding="utf-8"))
    lists = {cue for path in RULE_FILES for cue in tomllib.loads(path.read_text(encoding="utf-8"))["cues"]}
    assert {cue.removeprefix("^") for cue in weights} - lists <= {
        *FORMS,
        "any",
        "few words",
        "short",
        "long",
        "of usual length",
    }
    assert (RULES / "weights.json").stat().st_size < 300_000


# What is known already


def test_what_a_context_file_says_is_skipped() -> None:
    known = ["# Rules\n\n- In this repo we use tabs, not spaces.\n- Deploys are frozen on Fridays.\n"]
    signal = classify("in this repo we use tabs not spaces", known=known)
    assert (signal.branch, signal.rule) == ("skip", "en.known")
    assert classify("in this repo we use tabs not spaces", known=["Something else."]).branch == "convention"


@pytest.mark.parametrize(
    ("sentence", "known"),
    [
        ("the db runs on port 5433", "The db runs on port 5432."),
        ("use tabs instead of spaces", "Use spaces instead of tabs."),
        ("we never use docker", "We use docker."),
        ("always use docker", "Never use docker, always use podman."),
        ("数据库跑在docker里，端口5433", "数据库跑在docker里，端口5432"),
        ("мы не коммитим сгенерированные файлы, запомни", "Мы коммитим сгенерированные файлы."),
    ],
)
def test_another_number_order_or_negation_is_not_known(sentence: str, known: str) -> None:
    assert classify(sentence, known=[known]).branch != "skip"


# The sentences of a message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use uv. the db is on 5433! ok?", ["Use uv.", "the db is on 5433!", "ok?"]),
        ("see https://a.example/x.y?z=1. we use v3.12.1 now", ["see https://a.example/x.y?z=1.", "we use v3.12.1 now"]),
        ("we use linters, e.g. ruff, etc. for style", ["we use linters, e.g. ruff, etc. for style"]),
        ("z. B. am 3. Mai. Danach nicht", ["z. B. am 3. Mai.", "Danach nicht"]),
        ("запуск в т.ч. и т.д. не нужен. ок", ["запуск в т.ч.", "и т.д. не нужен.", "ок"]),
        ("用pnpm。别用npm！好吗？好", ["用pnpm。", "别用npm！", "好吗？", "好"]),
        ("- use tabs\n* no spaces\n1. tests first", ["use tabs", "no spaces", "tests first"]),
        ("¿Puedes? ¡No! Vale…  sí", ["¿Puedes?", "¡No!", "Vale…", "sí"]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def test_code_between_fences_and_quoted_lines_are_not_the_persons_words() -> None:
    text = "always use tabs\n```py\nnever use spaces\n```\n> remember that I said so\n~~~\nI prefer x\n~~~\ncall me Jo"
    assert [signal.statement for signal in signals(text)] == ["always use tabs", "call me Jo"]


def test_a_fence_that_is_never_closed_hides_the_rest() -> None:
    assert [signal.statement for signal in signals("call me Jo\n```\nI prefer x")] == ["call me Jo"]


@pytest.mark.parametrize(
    "mail",
    [
        "From: Ann Example <ann@example.com>\nSubject: colours\n\nI prefer blue.\nAlways use blue.",
        "Von: Ann Example\nBetreff: Farben\n\nIch bevorzuge Blau.",
        "On Mon, 2 Mar 2026 at 10:00, Ann Example wrote:\nI prefer blue.",
        "-----Original Message-----\nI prefer blue.",
        "Dear Sam,\nI prefer blue. From now on use blue.\n\nBest regards,\nAnn",
        "Sehr geehrte Damen und Herren,\nich bevorzuge Blau.\nMit freundlichen Grüßen\nAnn Example",
        "Bonjour Sam,\nje préfère le bleu.\nCordialement,\nAnn",
        "尊敬的客户：\n我喜欢蓝色。\n此致\n敬礼",
    ],
)
def test_a_pasted_mail_is_not_the_persons_words(mail: str) -> None:
    assert [signal.statement for signal in signals(f"call me Jo\n{mail}")] == ["call me Jo"]


@pytest.mark.parametrize(
    "text",
    [
        "Subject: lines start with the ticket\nI prefer tabs",
        "Hi there,\nI prefer tabs\ncheers",
        "Dear me!\nI prefer tabs",
    ],
)
def test_one_sign_of_a_mail_alone_hides_nothing(text: str) -> None:
    assert "I prefer tabs" in [signal.statement for signal in signals(text) if signal.branch == "preference"]


def test_a_message_over_its_limit_is_one_dump() -> None:
    (dump,) = signals("I prefer tabs. " * (LONGEST_TEXT // 15 + 1))
    assert (dump.branch, dump.rule, dump.statement) == ("skip", "any.long", "")
    assert classify("remember that " + "x" * LONGEST_SENTENCE).rule == "any.long"


@pytest.mark.parametrize(
    "line",
    [
        '  File "/srv/app/main.py", line 12, in run',
        "    at com.example.Main.run(Main.java:12)",
        '{"always": "use tabs"}',
        "[2026-03-01 12:00:01] remember that",
        "@@ -1,4 +1,4 @@ never",
        "const always = use(tabs)",
        "<p>I prefer tabs</p>",
    ],
)
def test_a_line_of_a_dump_is_no_statement(line: str) -> None:
    assert classify(line).rule.startswith("any.")


# Hostile input


@settings(max_examples=150)
@given(st.text(max_size=700), st.sampled_from(["", "remember that ", "no, ", "不是", "не ", "first ", "always "]))
def test_any_text_gets_an_answer_in_words_of_its_own(text: str, head: str) -> None:
    signal = classify(head + text, known=["a text", head + text])
    assert isinstance(signal, Signal)
    assert (signal.target is None) == (signal.branch == "skip")
    shown = " ".join(unicodedata.normalize("NFC", head + text).replace("’", "'").split())
    assert signal.statement in shown
    assert all(isinstance(each, Signal) for each in signals(head + text))


def parts(tree: Any) -> list[tuple[Any, Any]]:
    """All nodes of a parsed expression."""
    found: list[tuple[Any, Any]] = []
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, parser.SubPattern):
            todo.extend(node)
        elif isinstance(node, tuple) and len(node) == 2 and isinstance(node[0], constants._NamedIntConstant):
            found.append(node)
            todo.append(node[1])
        elif isinstance(node, list | tuple):
            todo.extend(node)
    return found


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.stem)
def test_no_pattern_repeats_without_a_bound_or_nests_long_repetitions(path: Path) -> None:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    patterns = [pattern for rule in data["rule"] for key in ("fits", "unless") for pattern in rule.get(key, [])]
    patterns += [pattern for forms in data.get("forms", {}).values() for pattern in forms]
    assert patterns
    for pattern in patterns:
        expanded = expand(pattern, data.get("words", {}))
        for kind, value in parts(parser.parse(expanded)):
            if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
                _, most, repeated = value
                assert most < constants.MAXREPEAT, pattern
                inner = [node for node in parts(repeated) if node[0] in (constants.MAX_REPEAT, constants.MIN_REPEAT)]
                assert most <= 4 or not inner, pattern


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.stem)
def test_every_rule_says_why_and_has_a_name_of_its_own(path: Path) -> None:
    rules = tomllib.loads(path.read_text(encoding="utf-8"))["rule"]
    assert all(rule["why"] for rule in rules)
    assert len({rule["name"] for rule in rules}) == len(rules)
    assert {key for rule in rules for key in rule} <= {"name", "branch", "why", "fits", "unless"}
    assert all(re.fullmatch(r"[a-z-]+", rule["name"]) for rule in rules)
