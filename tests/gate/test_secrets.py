"""Secrets are found and replaced, ordinary notes are left alone, and no text takes long or breaks a redaction."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from secret_rows import grouped, iban, luhn, password, rows

from vademecum.gate import rulebook, secret_checks, secrets
from vademecum.gate.secrets import find_secrets, redact, rule_names

KEY = b"the key of a home that was made for a test"
MARK = re.compile(r"\[secret:[a-z0-9-]+:[0-9a-f]{8}\]")
ROWS = list(rows())

ORDINARY = """
SSH key is at ~/.ssh/id_ed25519
The password manager is 1Password; the vault is shared with Anna.
Rotate the API key monthly, on the first Monday.
The fix is in commit 9fceb02d0ae598e95dc970b74767f19372d61af8.
Session 550e8400-e29b-41d4-a716-446655440000 was slow, entry 01JD2QK3M5Z8V9N7T6R4P2W1XY has the trace.
The logo starts with data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
The password is required, and it is hashed with bcrypt.
The password is stored in 1Password.
Passwords must have at least 12 characters; the password policy is 16+ characters for admins.
password: str = Field(default=None)
password=os.environ["DB_PASSWORD"]
API_KEY=${OPENAI_API_KEY}
export OPENAI_API_KEY=your-key-here
token: Optional[str] = None
The access token expires after 3600 seconds, max_tokens: 4096.
Das Passwort ist abgelaufen und liegt im Tresor.
Le mot de passe est obligatoire.
La contraseña es incorrecta.
Het wachtwoord is verlopen.
Пароль хранится в менеджере паролей.
密码管理器是 1Password，密码是必填项。
postgres://user:password@localhost/db and postgres://${DB_USER}:${DB_PASSWORD}@db:5432/app
Uses bearer tokens; basic authentication is off.
The primary key is customer_id_2, the cache key is user_id:session_id:2024-05-01
Model: claude-sonnet-4-5-20250929, image sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
curl -X POST http://localhost:8080/api
Order 1234567890123, phone +49 170 1234567890, ISBN 978-3-16-148410-0, time 1732899600000
The GPIO header has pin 13; GPIO pin 4 is the reset line.
Public key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3gkq0eQyG9kF1zq6b2dX3lM0c7yF2v9w8q7r6t5s4u anna@laptop
The wifi password is on the fridge; the password for staging is different from production.
AUTH_MODE=oauth2-proxy-v7 TOKENIZERS_PARALLELISM=false PATH=/usr/local/bin:/usr/bin
api_key=settings.OPENAI_API_KEY_2, session_token=session_token
The encryption key is derived with HKDF-SHA256; JWTs are signed with RS256.
https://api.example/list?key=settings and https://tracker.example/?key=PROJ-1234&token=YOUR_TOKEN_HERE
src/a.py:1234:5:error:unused and registry.example:5000:team:image:latest-tag were logged at 2024-01-01T10:30:00
The password changes from weekly to monthly rotation.
Password: see the vault in the office
Passphrase: at least four random words
pw: required, and the pw is checked twice.
The passphrase is checked against the list.
La password è obbligatoria, a senha é obrigatória, hasło jest wymagane.
""".strip().splitlines()


def test_at_least_95_of_100_made_up_secrets_of_more_than_45_kinds_are_gone() -> None:
    missed: dict[str, list[str]] = defaultdict(list)
    for kind, text, value in ROWS:
        if value in redact(text, KEY)[0]:
            missed[kind].append(text)
    assert len({kind for kind, _, _ in ROWS}) >= 45
    assert sum(map(len, missed.values())) <= 0.05 * len(ROWS), dict(missed)
    assert [kind for kind, texts in missed.items() if len(texts) >= 2] == []


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_note_is_left_as_it_is(text: str) -> None:
    assert redact(text, KEY) == (text, ())


SAID = [
    ("https://api.example/v1?token={}", "abcdef0123456789abcdef"),
    ("https://api.example/v1?access_token={}&b=1", "abcd1234efgh"),
    ("https://api.example/v1?a=1&api_key={}", "hunter2hunter2"),
    ("https://api.example/v1?key={}", "kittens42x"),
    ("https://api.example/v1?secret={}", "abcdefgh"),
    ("https://api.example/v1?sig={}", "Zm9vYmFyYmF6"),
    ("https://api.example/v1?signature={}", "abc123abc123"),
    ("my pw is {}", "kittens"),
    ("pw: {}", "hunter2secret"),
    ("db.example.org:5432:app:bob:{}", "hunter2secret"),
    ("*:*:*:postgres:{}", "s3cretpw"),
    ("change my password from {} to newpass88", "oldpass77"),
    ("change my password from oldpass77 to {}", "newpass88"),
    ("changed the password from “{}” to “puppies”", "kittens"),
    ("my password: {}", "correct horse battery staple"),
    ("Passphrase: {}\nnext line", "correct horse battery staple"),
    ('password: "{}"', "my dog is Rex"),
    ("my passphrase is {}", "correct horse battery staple"),
    ("la password è {}", "Sole2024x"),
    ("a senha é {}", "Sol2024x"),
    ("hasło to {}", "Slonce2024"),
    ("The WiFi key is {}", "kittens42"),
]


@pytest.mark.parametrize(("text", "value"), SAID)
def test_a_password_in_an_address_a_line_or_a_sentence_is_gone(text: str, value: str) -> None:
    left, found = redact(text.format(value), KEY)
    assert value not in left
    assert found
    assert redact(left, KEY) == (left, ())


def test_what_stands_around_a_secret_stays() -> None:
    value = password(random.Random(1))
    text, found = redact(f"Das Passwort ist {value}, frag Tom.", KEY)
    assert re.fullmatch(r"Das Passwort ist \[secret:spoken-password:[0-9a-f]{8}\], frag Tom\.", text)
    assert [(secret.rule, secret.start, secret.end) for secret in found] == [("spoken-password", 17, 17 + len(value))]


def test_a_mark_is_equal_for_equal_values_and_differs_between_homes() -> None:
    text = f"password: {password(random.Random(2))}"
    here, there = redact(f"{text}\n{text}", KEY)[0], redact(text, b"another home")[0]
    first, second = MARK.findall(here)
    assert first == second
    assert MARK.findall(there) != [first]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, text, _ in ROWS if "\n" not in text][::4])
def test_redacting_a_redacted_text_changes_nothing(kind: str, text: str) -> None:
    once = redact(text, KEY)[0]
    assert redact(once, KEY) == (once, ())


def test_a_secret_within_the_words_of_another_is_found_as_well() -> None:
    value = password(random.Random(3))
    assert value not in redact(f"password is password is {value}", KEY)[0]


def test_a_private_key_goes_from_its_first_to_its_last_line() -> None:
    text = next(text for kind, text, _ in ROWS if kind == "private-key" and text.startswith("host key"))
    assert re.fullmatch(r"host key:\n\[secret:private-key:[0-9a-f]{8}\]\nkeep it", redact(text, KEY)[0])


def test_a_rule_can_be_switched_off() -> None:
    text = f"IBAN: {iban(random.Random(4), 'DE', 22)}"
    assert [secret.rule for secret in find_secrets(text)] == ["iban"]
    assert find_secrets(text, off={"iban"}) == ()


def test_a_value_on_the_allow_list_stays_by_itself_or_by_its_mark() -> None:
    value = password(random.Random(5))
    text = f"the password is {value}"
    (mark,) = MARK.findall(redact(text, KEY)[0])
    assert redact(text, KEY, allow=(value,)) == (text, ())
    assert redact(text, KEY, allow=(mark[-9:-1],)) == (text, ())


@pytest.mark.parametrize("country", ["DE", "FR", "NL", "GB", "ES", "CH"])
def test_an_account_number_counts_only_with_the_right_check_digits(country: str) -> None:
    length = {"DE": 22, "FR": 27, "NL": 18, "GB": 22, "ES": 24, "CH": 21}[country]
    right = iban(random.Random(country), country, length)
    wrong = f"{country}{(int(right[2:4]) + 1) % 100:02d}{right[4:]}"
    assert [secret.rule for secret in find_secrets(f"to {grouped(right)} BIC X")] == ["iban"]
    assert find_secrets(f"to {wrong} BIC X", off={"card-number"}) == ()


def test_a_card_number_counts_only_with_a_brand_and_the_right_check_digit() -> None:
    right = luhn(random.Random(6), "4", 16)
    wrong = right[:-1] + str((int(right[-1]) + 1) % 10)
    brandless = luhn(random.Random(6), "99", 16)
    assert [secret.rule for secret in find_secrets(f"card {right}")] == ["card-number"]
    assert find_secrets(f"card {wrong}") == find_secrets(f"card {brandless}") == ()


def test_offsets_are_characters_whatever_stands_before() -> None:
    value = password(random.Random(7))
    text = f"😀 пароль — {value}"
    (found,) = find_secrets(text)
    assert text[found.start : found.end] == value


def test_every_rule_names_a_check_that_exists_and_a_pattern_that_compiles() -> None:
    book = secrets._book()
    for rule in book.rules:
        assert rule.note in {*secret_checks.CHECKS, "-", "pem"} or re.fullmatch(r"e\d", rule.note), rule
        assert rule.keywords or rule.probes
        assert list(book.spans(rule, b"")) == []
    assert all(re.fullmatch(r"[a-z0-9-]{1,40}", name) for name in rule_names())


PIECES = st.sampled_from(
    ["password is ", "password=", "token: ", "AKIA", "Bearer ", "[secret:", "[secret:a:12345678]", "://a:", "@b", "'",
     '"', " ", "\n", "DE89", "4111 1111 1111 1111", "x1y2z3A!", "-----BEGIN PRIVATE KEY-----", "пароль — ", "密码是",
     "é", "eyJhbGciOiJIUzI1NiJ9.", "A" * 40, "0123456789abcdef" * 2, "KEY=", "hunter2", "\ud800", "."]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=100))
@example("password is password is password is x1y2z3A!")
@example("password=[secret:a:12345678]x1y2z3A!")
def test_no_text_breaks_a_redaction_and_a_second_one_changes_nothing(text: str) -> None:
    once, found = redact(text, KEY)
    assert redact(once, KEY) == (once, ())
    assert (once == text) is (not found)


HOSTILE = ["password is ", "password=a1b2c3d4 ", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaaaa.", "KEY_A_", "api_key=",
           "4111 1111 1111 1111 ", "DE89 3704 ", "a://b:c@", "token:", "a1", "пароль — ", "[secret:", "cookie: a=",
           "seed phrase aaa ", "curl -u ", "MM.", "aws secret "]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_work_on_a_hostile_text_grows_with_the_text_and_not_faster(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted in values that are judged and bytes that judges are shown, which no clock disturbs."""
    work = 0

    def counted(check: secret_checks.Check) -> secret_checks.Check:
        def judge(value: str, before: str) -> secret_checks.Part | None:
            nonlocal work
            work += len(value) + len(before) + 1
            return check(value, before)

        return judge

    monkeypatch.setattr(secret_checks, "CHECKS", {name: counted(check) for name, check in secret_checks.CHECKS.items()})

    def work_for(times: int) -> int:
        nonlocal work
        work = 0
        redact(unit * times, KEY)
        return work

    small, large = work_for(200), work_for(2000)
    assert large <= 13 * max(small, 300)


def test_a_plain_word_counts_where_only_a_password_can_stand() -> None:
    assert "swordfish" not in redact("The password is swordfish.", KEY)[0]
    assert "correct-horse" not in redact("password is correct-horse-battery-staple", KEY)[0]
    for text in ("The password is required.", "The password is wrong.", "The password is case-sensitive."):
        assert redact(text, KEY) == (text, ())


def test_after_many_texts_the_same_rules_wake() -> None:
    texts = [text.lower() for _, text, _ in ROWS[::3]]
    texts += ["an ordinary sentence about the key to the house", "", "漢字 und ßharp S", "\udcff not utf-8"]
    fresh, warm = (rulebook.Rulebook(Path(secrets.__file__).with_name("secrets.rules")) for _ in range(2))
    for _ in range(300):
        warm.awake("nothing")
    woken = [[rule.name for rule in fresh.awake(text)] for text in texts[:190]]
    assert [[rule.name for rule in warm.awake(text)] for text in texts[:190]] == woken
    assert any(woken) and not all(woken)
