"""Made-up secrets of each kind, generated from a seed: none was ever real, and none stands in a file as a whole."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

ALNUM = ascii_letters + digits
URLSAFE = ALNUM + "-_"
HEX = "0123456789abcdef"
BASE32 = ascii_uppercase + "234567"
B64 = ALNUM + "+/"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

Row = tuple[str, str, str]
"""Kind, text, and the part of the text that must be gone after a redaction."""

R = random.Random


def pick(r: R, alphabet: str, length: int) -> str:
    return "".join(r.choice(alphabet) for _ in range(length))


def uuid(r: R) -> str:
    return "-".join(pick(r, HEX, size) for size in (8, 4, 4, 4, 12))


def b64(r: R, size: int) -> str:
    return base64.b64encode(r.randbytes(size)).decode()


def b64url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def password(r: R) -> str:
    return pick(r, ascii_uppercase, 1) + pick(r, ascii_lowercase, 6) + pick(r, digits, 2) + r.choice("!$%&+*")


def jwt(r: R) -> str:
    head = b64url('{"alg":"HS256","typ":"JWT"}')
    body = b64url('{"sub":"' + pick(r, digits, 10) + '"}')
    return f"{head}.{body}.{pick(r, URLSAFE, 43)}"


def pem(r: R, name: str, newline: str = "\n") -> str:
    lines = [pick(r, B64, 64) for _ in range(12)] + [pick(r, B64, 30) + "=="]
    return newline.join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----"])


def luhn(r: R, prefix: str, length: int) -> str:
    body = prefix + pick(r, digits, length - len(prefix) - 1)
    total = sum(d for d in map(int, body[-2::-2])) + sum(d * 2 - 9 * (d > 4) for d in map(int, body[::-2]))
    return body + str(-total % 10)


def iban(r: R, country: str, length: int, letters: int = 0) -> str:
    rest = pick(r, ascii_uppercase, letters) + pick(r, digits, length - 4 - letters)
    number = int("".join(str(int(char, 36)) for char in rest + country + "00"))
    return f"{country}{98 - number % 97:02d}{rest}"


def grouped(text: str, separator: str = " ") -> str:
    return separator.join(text[at : at + 4] for at in range(0, len(text), 4))


TOKENS: dict[str, Callable[[R], str]] = {
    "aws-access-key": lambda r: "AK" + "IA" + pick(r, BASE32, 16),
    "github-token": lambda r: r.choice(["ghp_", "gho_", "ghs_", "ghu_"]) + pick(r, ALNUM, 36),
    "github-token/fine": lambda r: "github_" + "pat_" + pick(r, ALNUM, 22) + "_" + pick(r, ALNUM, 59),
    "gitlab-token": lambda r: "glp" + "at-" + pick(r, URLSAFE, 20),
    "slack-token": lambda r: f"xox{r.choice('bp')}-{pick(r, digits, 12)}-{pick(r, digits, 12)}-{pick(r, ALNUM, 24)}",
    "slack-token/app": lambda r: f"xapp-1-A{pick(r, BASE32, 10)}-{pick(r, digits, 13)}-{pick(r, HEX, 64)}",
    "slack-webhook": lambda r: (
        f"https://hooks.slack.com/services/T{pick(r, BASE32, 8)}/B{pick(r, BASE32, 8)}/{pick(r, ALNUM, 24)}"
    ),
    "discord-webhook": lambda r: f"https://discord.com/api/webhooks/{pick(r, digits, 18)}/{pick(r, URLSAFE, 68)}",
    "discord-token": lambda r: f"MT{pick(r, ALNUM, 22)}.{pick(r, URLSAFE, 6)}.{pick(r, URLSAFE, 38)}",
    "telegram-token": lambda r: f"{pick(r, '123456789', 10)}:AA{pick(r, URLSAFE, 33)}",
    "stripe-key": lambda r: r.choice(["sk_live_", "rk_live_", "sk_test_"]) + pick(r, ALNUM, 24),
    "webhook-secret": lambda r: "whs" + "ec_" + pick(r, ALNUM, 32),
    "google-api-key": lambda r: "AI" + "za" + pick(r, URLSAFE, 35),
    "google-oauth-secret": lambda r: "GOC" + "SPX-" + pick(r, URLSAFE, 28),
    "google-access-token": lambda r: "ya" + "29.a0" + pick(r, URLSAFE, 60),
    "azure-client-secret": lambda r: pick(r, ALNUM, 3) + "8Q~" + pick(r, ALNUM, 34),
    "openai-key": lambda r: "sk-" + "proj-" + pick(r, ALNUM, 48),
    "sk-key": lambda r: "sk-" + pick(r, ALNUM, 48),
    "anthropic-key": lambda r: "sk-" + "ant-api03-" + pick(r, URLSAFE, 86) + "-" + pick(r, ALNUM, 6) + "AA",
    "openrouter-key": lambda r: "sk-" + "or-v1-" + pick(r, HEX, 64),
    "huggingface-token": lambda r: "h" + "f_" + pick(r, ascii_letters, 34),
    "replicate-token": lambda r: "r" + "8_" + pick(r, ALNUM, 37),
    "groq-key": lambda r: "gs" + "k_" + pick(r, ALNUM, 52),
    "xai-key": lambda r: "xa" + "i-" + pick(r, ALNUM, 80),
    "perplexity-key": lambda r: "pp" + "lx-" + pick(r, ALNUM, 48),
    "langsmith-key": lambda r: f"lsv2_pt_{pick(r, HEX, 32)}_{pick(r, HEX, 10)}",
    "pinecone-key": lambda r: f"pcsk_{pick(r, ALNUM, 6)}_{pick(r, ALNUM, 60)}",
    "sendgrid-key": lambda r: "S" + f"G.{pick(r, URLSAFE, 22)}.{pick(r, URLSAFE, 43)}",
    "mailgun-key": lambda r: "ke" + "y-" + pick(r, HEX, 32),
    "mailchimp-key": lambda r: f"{pick(r, HEX, 32)}-us{r.randint(1, 21)}",
    "brevo-key": lambda r: f"xkeysib-{pick(r, HEX, 64)}-{pick(r, ALNUM, 16)}",
    "twilio-key": lambda r: "S" + "K" + pick(r, HEX, 32),
    "npm-token": lambda r: "np" + "m_" + pick(r, ALNUM, 36),
    "pypi-token": lambda r: "py" + "pi-AgEIcHlwaS5vcmc" + pick(r, URLSAFE, 140),
    "rubygems-key": lambda r: "ruby" + "gems_" + pick(r, HEX, 48),
    "docker-token": lambda r: "dckr" + "_pat_" + pick(r, URLSAFE, 27),
    "digitalocean-token": lambda r: "dop" + "_v1_" + pick(r, HEX, 64),
    "shopify-token": lambda r: "shp" + "at_" + pick(r, HEX, 32),
    "square-token": lambda r: "sq0" + "atp-" + pick(r, URLSAFE, 22),
    "databricks-token": lambda r: "da" + "pi" + pick(r, HEX, 32),
    "grafana-token": lambda r: f"glsa_{pick(r, ALNUM, 32)}_{pick(r, HEX, 8)}",
    "newrelic-key": lambda r: "NR" + "AK-" + pick(r, BASE32, 27),
    "sentry-token": lambda r: "sntr" + "yu_" + pick(r, HEX, 64),
    "linear-key": lambda r: "lin_" + "api_" + pick(r, ALNUM, 40),
    "notion-token": lambda r: "nt" + "n_" + pick(r, ALNUM, 46),
    "notion-token/old": lambda r: "secr" + "et_" + pick(r, ALNUM, 43),
    "airtable-token": lambda r: f"pat{pick(r, ALNUM, 14)}.{pick(r, HEX, 64)}",
    "figma-token": lambda r: "fi" + "gd_" + pick(r, URLSAFE, 40),
    "atlassian-token": lambda r: "ATA" + "TT3xFfGF0" + pick(r, URLSAFE, 170) + "=" + pick(r, HEX, 8).upper(),
    "hubspot-token": lambda r: f"pat-na1-{uuid(r)}",
    "postman-key": lambda r: f"PMAK-{pick(r, HEX, 24)}-{pick(r, HEX, 34)}",
    "planetscale-token": lambda r: "psca" + "le_tkn_" + pick(r, URLSAFE, 43),
    "pulumi-token": lambda r: "pu" + "l-" + pick(r, HEX, 40),
    "doppler-token": lambda r: "dp" + ".pt." + pick(r, ALNUM, 43),
    "vault-token": lambda r: "hv" + "s." + pick(r, URLSAFE, 90),
    "terraform-token": lambda r: f"{pick(r, ALNUM, 14)}.atlasv1.{pick(r, URLSAFE, 67)}",
    "tailscale-key": lambda r: f"tskey-auth-{pick(r, ALNUM, 12)}-{pick(r, ALNUM, 32)}",
    "supabase-key": lambda r: "sb" + "p_" + pick(r, HEX, 40),
    "fly-token": lambda r: "fm" + "2_" + b64(r, 120),
    "dropbox-token": lambda r: "sl" + ".B" + pick(r, URLSAFE, 130),
    "facebook-token": lambda r: "EA" + "A" + pick(r, ALNUM, 150),
    "age-key": lambda r: "AGE-SECRET-" + "KEY-1" + pick(r, "023456789ACDEFGHJKLMNPQRSTUVWXYZ", 58),
    "jwt": jwt,
    "extended-private-key": lambda r: "xp" + "rv9" + pick(r, BASE58, 107),
    "password-hash": lambda r: "$2b" + "$12$" + pick(r, ALNUM + "./", 53),
}
"""Kinds that are known by their form alone: they are found in any sentence."""

SENTENCES = (
    "{}",
    "the new one is {} and it is valid until May",
    "export SERVICE_CREDENTIAL={}",
    "Note to self: use `{}` for the deploy script.",
)


def rows() -> Iterator[Row]:
    """At least three rows of every kind; the same on every call."""
    for kind, make in TOKENS.items():
        r = random.Random(kind)
        for sentence in SENTENCES:
            value = make(r)
            yield kind, sentence.format(value), value.removeprefix("https://")[-20:]
    for kind, shapes in FORMS.items():
        r = random.Random(kind)
        for shape in shapes:
            yield kind, *shape(r)


Shape = Callable[[R], tuple[str, str]]


def put(text: str, make: Callable[[R], str]) -> Shape:
    def shape(r: R) -> tuple[str, str]:
        value = make(r)
        return text.replace("{}", value), value

    return shape


def shapes(make: Callable[[R], str], *texts: str) -> tuple[Shape, ...]:
    return tuple(put(text, make) for text in texts)


def basic(r: R) -> str:
    return base64.b64encode(f"deploy:{password(r)}".encode()).decode()


FORMS: dict[str, tuple[Shape, ...]] = {
    "private-key": (
        lambda r: (key := pem(r, "RSA PRIVATE " + "KEY"), key[60:400]),
        lambda r: ("host key:\n" + (key := pem(r, "OPENSSH PRIVATE " + "KEY")) + "\nkeep it", key[60:400]),
        lambda r: ('{"private_key": "' + (key := pem(r, "PRIVATE " + "KEY", "\\n")) + '"}', key[60:400]),
        lambda r: (key := pem(r, "EC PRIVATE " + "KEY").split("-----END")[0], key[60:400]),
        lambda r: (key := pem(r, "PGP PRIVATE " + "KEY BLOCK"), key[60:400]),
    ),
    "aws-secret-key": shapes(
        lambda r: pick(r, B64, 40),
        "aws_secret_access_key = {}",
        "AWS_SECRET_ACCESS_KEY={}",
        "the AWS secret for the backup user is {} (eu-central-1)",
        '"SecretAccessKey": "{}"',
    ),
    "azure-account-key": shapes(
        lambda r: b64(r, 64),
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={};EndpointSuffix=core.windows.net",
        "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={}",
        "storage account key: {}",
    ),
    "azure-sas": shapes(
        lambda r: b64(r, 32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"),
        "https://acme.blob.core.windows.net/data?sv=2023-11-03&sp=r&sig={}",
        "use ?se=2026-01-01&sig={} for the upload",
        "blob link https://a.blob.core.windows.net/x/y.zip?sig={}&sp=rl",
    ),
    "url-password": shapes(
        password,
        "postgres://app:{}@db.internal:5432/main",
        "the mirror is https://anna:{}@files.example.org/repo",
        "redis://:{}@cache:6379/0",
        "mongodb+srv://root:{}@cluster0.abcde.mongodb.net/?retryWrites=true",
        "amqp://worker:{}@queue.example.org/jobs",
    ),
    "bearer-token": shapes(
        lambda r: pick(r, URLSAFE, 40),
        "Authorization: Bearer {}",
        "curl -H 'Authorization: bearer {}' https://api.example.org",
        "the gateway wants Bearer {} in the header",
    ),
    "basic-auth": shapes(
        basic,
        "Authorization: Basic {}",
        "header is basic {}",
        'headers={"Authorization": "Basic {}"}',
    ),
    "authorization-header": shapes(
        lambda r: pick(r, HEX, 40),
        "Authorization: token {}",
        "X-Api-Key: {}",
        "PRIVATE-TOKEN: {}",
        "X-Auth-Token: {}",
    ),
    "cookie": shapes(
        lambda r: pick(r, ALNUM, 40),
        "Cookie: session={}",
        "Set-Cookie: sid={}; Path=/; HttpOnly",
        "log in by sending cookie: auth_token={}",
    ),
    "otpauth": shapes(
        lambda r: pick(r, BASE32, 32),
        "otpauth://totp/Acme:anna@example.org?secret={}&issuer=Acme",
        "scan otpauth://hotp/x?counter=1&secret={}",
        "QR holds otpauth://totp/GitHub:anna?secret={}",
    ),
    "otp-secret": shapes(
        lambda r: pick(r, BASE32, 32),
        "TOTP secret: {}",
        "2FA seed for GitHub is {}",
        "the MFA key {} goes into the app",
    ),
    "iban": (
        lambda r: (f"Rent goes to {(v := iban(r, 'DE', 22))} each month", v),
        lambda r: (f"IBAN: {(v := grouped(iban(r, 'FR', 27)))}", v),
        lambda r: (f"account {(v := grouped(iban(r, 'NL', 18, 4)))} of the landlord", v),
        lambda r: (f"IBAN {(v := iban(r, 'GB', 22, 4))}.", v),
        lambda r: (f"conto {(v := grouped(iban(r, 'ES', 24), '-'))}", v),
    ),
    "card-number": (
        lambda r: (f"card {(v := luhn(r, '4', 16))} exp 12/27", v),
        lambda r: (f"Visa: {(v := grouped(luhn(r, '4', 16)))}", v),
        lambda r: (f"pay with {(v := grouped(luhn(r, '53', 16), '-'))}", v),
        lambda r: (f"Amex {(v := luhn(r, '37', 15))}", v),
        lambda r: (f"Discover {(v := luhn(r, '6011', 16))} works", v),
    ),
    "spoken-password/en": shapes(
        password,
        "The password is {}",
        "the wifi password at the office is {}, ask Tom",
        "my password for the NAS is '{}'",
        "Password for the router: {}",
    ),
    "spoken-password/de": shapes(
        password,
        "Das Passwort ist {}",
        "Mein Kennwort lautet {}",
        "das WLAN-Passwort für Gäste ist {}",
        "Passwort: {}",
    ),
    "spoken-password/fr": shapes(
        password,
        "Le mot de passe est {}",
        "mot de passe du wifi : {}",
        "le mdp c'est {}",
    ),
    "spoken-password/es": shapes(
        password,
        "La contraseña es {}",
        "contraseña del servidor: {}",
        "la clave del wifi es {}",
    ),
    "spoken-password/nl": shapes(
        password,
        "Het wachtwoord is {}",
        "wachtwoord: {}",
        "het wachtwoord van de server luidt {}",
    ),
    "spoken-password/ru": shapes(
        password,
        "Пароль — {}",
        "пароль от вайфая: {}",
        "пароль это {}",
        "пароль {}",
    ),
    "spoken-password/zh": shapes(
        password,
        "密码是{}",
        "服务器的密码：{}",
        "口令为 {}。",
    ),
    "pin": shapes(
        lambda r: pick(r, digits, 4),
        "the PIN is {}",
        "PIN code: {}",
        "my phone's pin is {}.",
    ),
    "env-secret": shapes(
        lambda r: pick(r, ALNUM, 32),
        "STRIPE_SECRET={}",
        "export ACME_API_KEY='{}'",
        "JWT_SIGNING_KEY = {}",
        "SESSION_TOKEN={}\nDEBUG=1",
    ),
    "env-password": shapes(
        password,
        "DB_PASSWORD={}",
        "export PGPASSWORD='{}'",
        'SMTP_PASS="{}"',
    ),
    "named-password": shapes(
        password,
        "password: {}",
        "Server=db;Database=app;User Id=sa;Password={};",
        '"passwd": "{}"',
        "jdbc:mysql://db/app?user=root&password={}",
    ),
    "named-secret/hex": shapes(
        lambda r: pick(r, HEX, 32),
        "Datadog API key: {}",
        "twilio auth token is {}",
        "client_secret={}",
        "the access token for the CRM is {}",
    ),
    "named-secret/uuid": shapes(
        uuid,
        "Heroku API key: {}",
        "snyk token = {}",
        "api_key: {}",
    ),
    "named-secret/alnum": shapes(
        lambda r: pick(r, ALNUM, 40),
        "Cloudflare API token {}",
        "secret key → {}",
        "the Fastly key is {}",
        "Der API-Schlüssel lautet {}",
        "clé d'API : {}",
        "API 密钥是 {}",
    ),
    "url-token": shapes(
        lambda r: pick(r, ALNUM, 40),
        "https://api.example.org/v1/items?access_token={}",
        "feed at https://example.org/rss?api_key={}&format=xml",
        "webhook https://example.org/hook?token={}",
    ),
    "command-password": shapes(
        password,
        "curl -u anna:{} https://example.org/api",
        "sshpass -p '{}' ssh root@host",
        "mysql -u root -p{} shop",
        "redis-cli -h cache -a {} ping",
    ),
    "netrc": shapes(
        password,
        "machine example.org login anna password {}",
        "login deploy password {}",
        "machine git.example.org\n  login ci\n  password {}",
    ),
    "docker-auth": shapes(
        basic,
        '{"auths": {"registry.example.org": {"auth": "{}"}}}',
        '"auth": "{}"',
        '"https://index.docker.io/v1/": { "auth" : "{}" }',
    ),
    "wifi-code": shapes(
        password,
        "WIFI:T:WPA;S:Home;P:{};;",
        "QR for guests: WIFI:S:Guest;T:WPA;P:{};;",
        "WIFI:S:Office;P:{};T:WPA2;H:true;;",
    ),
    "seed-phrase": shapes(
        lambda r: " ".join(pick(r, ascii_lowercase, r.randint(4, 8)) for _ in range(12)),
        "seed phrase: {}",
        "my recovery phrase is {}",
        "mnemonic = {}",
    ),
    "wallet-key": shapes(
        lambda r: pick(r, HEX, 64),
        "the wallet private key is 0x{}",
        "private key: {}",
        "ETH_PRIVATE_KEY=0x{}",
    ),
}
"""Kinds that are known by what stands around them."""
