"""A table of secrets as services hand them out and files hold them, and of what only looks like one."""

from __future__ import annotations

import base64
import secrets
import uuid

import pytest

from neuraphage.redaction.redactor import Redactor

HEX = "0123456789abcdef" * 8
MIX = "aB3dE5fG7hJ9kL1mN0pQ2rS4tU6vW8xY" * 5
UPPER = "A1B2C3D4E5F6G7H8J9K0" * 4


def built(pattern: str) -> str:
    """A secret, put together at run time so that no scanner takes this file for a leak: `|` goes, `{h32}` is 32
    hexadecimal digits, `{m32}` letters and digits, `{u32}` capitals and digits, `{d9}` digits."""
    kinds = {"h": HEX, "m": MIX, "u": UPPER, "d": "1234567890" * 3}
    text = pattern.replace("|", "")
    while "{" in text:
        head, _, rest = text.partition("{")
        code, _, tail = rest.partition("}")
        text = head + kinds[code[0]][: int(code[1:])] + tail
    return text


TOKENS = {
    "anthropic": "sk|-ant-api03-{m80}",
    "openai": "sk|-{m48}",
    "openai project": "sk|-proj-{m60}",
    "openai service": "sk|-svcacct-{m60}",
    "groq": "gs|k_{m52}",
    "xai": "xa|i-{m80}",
    "perplexity": "pp|lx-{m48}",
    "replicate": "r8|_{m37}",
    "langsmith": "ls|v2_pt_{h32}_{h10}",
    "hugging face": "hf|_{m34}",
    "hugging face organisation": "api|_org_{m34}",
    "github classic": "gh|p_{m36}",
    "github oauth": "gh|o_{m36}",
    "github fine": "github|_pat_{m22}_{m59}",
    "gitlab": "gl|pat-{m20}",
    "gitlab deploy": "gl|dt-{m20}",
    "gitlab runner": "gl|rt-{m20}",
    "npm": "np|m_{m36}",
    "pypi": "py|pi-AgEIcHlwaS5vcmc{m60}",
    "cargo": "ci|o{m32}",
    "rubygems": "ruby|gems_{h48}",
    "docker hub": "dckr|_pat_{m27}",
    "postman": "PM|AK-{h24}-{h34}",
    "atlassian": "AT|ATT3xFfGF0{m60}",
    "aws": "AK|IAIOSFODNN7EXAMPLE",
    "aws temporary": "AS|IA{u16}",
    "google": "AI|zaSy{m33}",
    "google oauth": "ya|29.{m60}",
    "google secret": "GO|CSPX-{m28}",
    "google refresh": "1/|/0{m60}",
    "digitalocean": "do|p_v1_{h64}",
    "azure client": "aB3|8Q~{m34}",
    "vault": "hv|s.{m24}",
    "vault, old": "s|.{m24}",
    "vault, old, of a namespace": "s|.{m24}.{m5}",
    "terraform": "{m14}.at|lasv1.{m67}",
    "pulumi": "pu|l-{h40}",
    "doppler": "dp|.pt.{m43}",
    "tailscale": "ts|key-auth-{m30}",
    "planetscale": "ps|cale_tkn_{m43}",
    "supabase": "sb|p_{h40}",
    "databricks": "da|pi{h32}",
    "slack bot": "xo|xb-123456789012-123456789012-{m24}",
    "slack app": "xa|pp-1-A0{u9}-{d12}-{h64}",
    "slack hook": "https://hooks.sl|ack.com/services/T{u8}/B{u8}/{m24}",
    "discord": "MT|k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{m27}",
    "discord hook": "https://discord.com/api/web|hooks/{d18}/{m68}",
    "telegram": "{d10}:A|A{m33}",
    "sendgrid": "SG|.{m22}.{m43}",
    "twilio": "S|K{h32}",
    "mailgun": "ke|y-{h32}",
    "mailchimp": "{h32}-u|s12",
    "brevo": "xke|ysib-{h64}-{m16}",
    "stripe live": "sk|_live_{m24}",
    "stripe test": "sk|_test_{m24}",
    "stripe restricted": "rk|_live_{m24}",
    "stripe webhook": "wh|sec_{m32}",
    "square": "sq|0atp-{m22}",
    "shopify": "sh|pat_{h32}",
    "linear": "li|n_api_{m40}",
    "notion": "nt|n_{m46}",
    "notion, old": "sec|ret_{m43}",
    "figma": "fi|gd_{m40}",
    "airtable": "pa|t{m14}.{h64}",
    "grafana": "gl|sa_{m32}_{h8}",
    "new relic": "NR|AK-{u27}",
    "sentry": "sn|trys_eyJ{m60}",
    "1password": "op|s_eyJ{m80}",
    "gitlab, routable": "gl|pat-{m40}.0a1b2c3d4",
    "gitlab, old runner": "GR|1348941{m20}",
    "artifactory": "AK|Cp{m69}",
    "octopus": "AP|I-{u26}",
    "sonar": "sq|u_{h40}",
    "clojars": "CLO|JARS_{h60}",
    "bedrock": "AB|SK{m110}",
    "openshift": "sha|256~{m43}",
    "dynatrace": "dt|0c01.{m24}.{m64}",
    "infracost": "ic|o-{m32}",
    "facebook": "EA|AM{m100}",
    "flutterwave": "FLW|SECK_TEST-{h32}-X",
    "shippo": "ship|po_live_{h40}",
    "duffel": "duf|fel_live_{m43}",
    "readme": "rd|me_{h70}",
    "prefect": "pn|u_{m36}",
    "typeform": "tf|p_{m59}",
    "frame.io": "fi|o-u-{m64}",
    "age": "AGE-SEC|RET-KEY-1{u58}",
    "jwt": "ey|JhbGciOiJIUzI1NiJ9.ey|JzdWIiOiIxMjM0In0.{m43}",
}

AROUND = [
    "{}", "the key is {}.", "('{}')", "a={}\nb", "[{}]", "x-{}", "--header=X-{}", "a: {}, b", "\u0130 {}", "`{}`",
    # what ends an escape is no letter of the word behind it
    '{"k": "x\\n{}\\n"}', '{"k": "x\\t{}\\t"}', '{"k": "x\\r\\n{}\\r\\n"}', '{"k": "\\"{}\\""}',
    '"{\\"k\\": \\"x\\\\n{}\\"}"',
    "q=%22{}%22", "q=a%0A{}%0Ab", "q=%20{}%20", "q=%3d{}%26r", "q=%2522{}%2522", "q==3D{} ",
    "\\u0022{}\\u0022", "\\u003d{}\\u0026", "\\x22{}\\x22", "\\012{}\\012", "\\U00000022{}\\U00000022",
    "\\u{22}{}\\u{22}",
    "\x1b[31m{}\x1b[0m", "\x1b[1;38;5;196m{}\x1b[m", "\x1b[m{}\x1b[K", "\x1b[K{}\x1b[K", "\x1b(B{}\x1b(B",
    "\x1b[?25l{}\x1b[?25h",
    "\\x1b[31m{}\\x1b[0m", "\\u001b[31m{}\\u001b[39m", "\\033[m{}\\033[m", "\\e[1m{}\\e[m", "^[[31m{}^[[m",
    "^I{}^I", "a^M{}^M",
    "&quot;{}&quot;", "&#34;{}&#34;", "&#x22;{}&#x22;", "&nbsp;{}&nbsp;", "&lt;{}&gt;",
]  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_is_cut_out(name: str) -> None:
    """Whatever stands around it, a dash too; nothing of its secret part is left, and nothing else is taken."""
    token, redactor = built(TOKENS[name]), Redactor()
    for around in AROUND:
        before, after = around.split("{}")
        redacted = redactor.text(before + token + after)
        assert token[-16:] not in redacted, around
        assert "[redacted:" in redacted, around
        assert redacted.startswith(before[:-1]), around
        assert redacted.endswith(after), around


PARTS_OF_NAMES = {"doppler", "mailgun", "sendgrid", "vault, old", "vault, old, of a namespace"}
"""Beginnings that names of code have as well (`api_key-...`, `its_s.`): they are not known behind `_`."""


@pytest.mark.parametrize("name", [name for name in TOKENS if name not in PARTS_OF_NAMES and "hook" not in name])
def test_a_token_behind_an_underscore_is_cut_out(name: str) -> None:
    """Where its beginning is its own."""
    token, redactor = built(TOKENS[name]), Redactor()
    for around in ("x_{}", "THE_{}.", "__{} "):
        redacted = redactor.text(around.format(token))
        assert token[-16:] not in redacted, around
        assert redacted.startswith(around.partition("{}")[0]), around


def test_the_table_is_long_enough() -> None:
    """Eighty kinds at least."""
    assert len(TOKENS) >= 80


ORDINARY = [
    "commit 9f2b4c6d8e0a1b3c5d7e9f0a2b4c6d8e0a1b3c5d",
    "index 1a2b3c4..5d6e7f8 100644",
    f"task-{uuid.UUID(int=2**126 + 99)}",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    '"integrity": "sha512-oRJmAbc123Def456Ghi789Jkl012Mno345Pqr678Stu901Vwx234Yz567A=="',
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "pip install --hash=sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "def login(user: str, password: str, token: Base64Str) -> None:",
    "  secret: Uint8Array;",
    "  private readonly token: Uint32Array;",
    "password: Optional[str] = None",
    "password: process.env.DB_PASSWORD",
    "  password: config.db2.password,",
    "token = next_token2",
    "docker run -u root -p 8080:80/tcp -p 127.0.0.1:9000:9000 image",
    "unzip -u all -p file2/a.zip",
    "ssh -l me -p 2222 host; mkdir -p a1/b2",
    "login -p",
    "the machine that I login to has no password yet",
    "<password>string</password> <token>${TOKEN}</token> <secret></secret>",
    "session=requests.Session(); sid=os.getsid(0)",
    "assess=1234567890123456; sessions=abc123def456ghi789",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: {{ vault_password_1 }}",
    "password: !vault |",
    "password: <your-password>",
    "password: null",
    "auth: required",
    "auth = HTTPBasicAuth",
    "the login page has a password field",
    "login or password is wrong",
    "Basic authentication is used",
    "docker run -u 1000:1000 image",
    "docker run -u node:node -p 8080:80 image",
    "docker run -u root -p8080:80 image",
    "docker build --secret id=aws1,src=creds .",
    "git push -u origin main",
    "gcc -pthread -p2 x.c",
    "tool --password-stdin < file",
    "tool --token TOKEN --password PASSWORD",
    "src/app.py:12:5: error: bad",
    "ports: 127.0.0.1:5432:5432",
    "00:11:22:33:44:55",
    "npm_config_some_long_variable_name_of_a_package_manager",
    "npm run test:unit -- --watch",
    "the path is /usr/local/lib/python3.11/site-packages",
    "sk_learn_pipeline, sk-learn-pipeline-of-many-dashed-words",
    "token=config.db2.token3 and more",
    "s.getSha256OfBase64DataXyz(1), s.parseHTTPUrlFromX509Pems and s.aVeryLongNameOfOneThing8",
    "s.readTheWholeOfThisFile12.close()",
    "x = SG.height + msg.size.value_of_something_long_here",
    "https://example.org/a@b?x=1&signal=abcdefghijklmnopqrst",
    "git@github.com:owner/repo.git and ssh://git@github.com/owner/repo",
    "monkey-0123456789abcdef",
    "hf_model_name_of_a_rather_long_kind_indeed",
    "secret: projects/my-project/secrets/db/versions/12",
    "accept = key-value-pair-0123",
    "MIT License, Notes. Mozilla.Public.License",
    "Node.js v18.12.1, Ncurses 6.4.20240113",
    # behind `_` and behind escapes: names of code, of clusters, of files
    "def test_sk_live_connectionpool(): my_gsk_of_a_function_with_a_very_long_name_of_words_only()",
    "convert_hf_to_gguf_update_Llama2_Model_with_70_billions; TASK_SK_LEARN_PIPELINE_OF_MANY_WORDS",
    "use_gsk_v2_of_a_function_with_a_very_long_name_of_words_and_numbers_12_and_13",
    "the_s.getSha256OfBase64DataXyz(1) my_key-value-pair-0123",
    "C:\\task-0190f3c1-7b3a-7c11-8a55-1234567890ab and C:\\new\\task-0190f3c1-7b3a-7c11-8a55-1234567890ab",
    "[msk-cluster-prod-1a2b3c4d5e6f, arn:aws:kafka:us-east-1:msk-demo-cluster-of-words]",
    "pip=dask-2024.1.0-py311h06a4308_0-and-more",
    "The-New-Outlook-Module-1234.abcdef.MOre-words-that-a-name-may-have",
    "cluster-0123456789abcdef0123456789abcdef-us-east-1",
    "x.SKelton0123456789abcdef0123456789",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_stays(text: str) -> None:
    """Hashes, ids, images, lock files, types, placeholders, prose: returned as the same object."""
    assert Redactor().text(text) is text


def test_random_bytes_are_not_taken_for_tokens() -> None:
    """A file in base64 or hexadecimal, line by line, comes through."""
    for _ in range(50):
        data = secrets.token_bytes(3_000)
        text = "\n".join([base64.b64encode(data).decode(), data.hex(), base64.b32encode(data).decode()])
        assert Redactor().text(text) is text


ADVERSARIAL = [
    "s.", "s.aB1", "s.aB1cD2eF3gH4iJ5kL6mN7oP8",
    "\\nsk-", "%22", "%22sk-", "_ghp_", "_ghp_a1b2c3-", "\\u0022", "\x1b[31m", "\x1b[31mghp_", "_hf_a1", "-MTk4",
    "MTk4", "-1:AA",     "-0a.atlasv1.", "-SK0", "12345678", "squ_", "sha256~", "AbsK",
    "sk-", "-sk-", "sk-A1-", "eyJ-", "eyJaaaaaaaa.eyJ-", "ghp_-", "SG.a.", "SG.aaaaaaaaaaaaaaaaaaaa-", "hf_",
    "M.", "Ma-", "MTk-",
    "dp.ab.", "dp.ab.a-", "1:AA", "1234567890:AA-", "key-0", "pat", "pata.", "password ", "password: ", "password: a1 ",
    "login ", "login a password ", "-u", "-u a:", "-u a -p", "--", "--a-", "--password ", "mysql -",
    "basic_auth=", "auth=",
    "authorization: basic ", "bearer ", ":*:", ":*:a:b:", "sig=", "&sig=", "://a", "_sk=", "_pat:",
    "0-us", "Q~", "a1Q~",
    "pass=", "_pass=a1", "DB_PASS=a1", "pw: ", "password\" value=\"", "password\" ", "token value=a",
    "?key=", "&key=a1", "%26token%3d", "token=%26token%3d", "%26key%3da", "x%3dtoken",
    ":a@tcp(", ":aaaa", "zip -a ", "zip a ", "7z a ", "7z -p", "mongosh -u b ", "mongo ",
    "ldapsearch -x ", "-D cn=a -w ", "-d a=",
    "htpasswd -b ", "htpasswd -b a b ", "-U a%", "-U a -P ", "-pass pass:", "-pw ",
    "machine\\n", "machine a\\nlogin ", "login\\n",
    "\\\\\\\"", "password\\\": \\\"", "auth\\\":",
    "password', '", "password','a1','", "password '", "identified by '", "identified with a by '", "set -x ", "setx a",
    "env ", "env a_token ", "env token", "requirepass a1", "on >", "on >a1", "convertto-securestring \"a1",
    "oracle:thin:", "oracle:thin:a/", "sqlplus a/a", "password is ", "password is a1 ", "token is a",
    "passphrase='", "passphrase='abc ", "passphrase='abc abc", "passphrase: 'abc abc abc", "$1$", "$1$a$aaaa",
    "$6$rounds=",
    "$argon2id$", "$argon2id$a$", "$2b$10$a", "response=\"0",
    "signature=0", "--auth ", "--a-auth a1", "http -a ", "http -a a:",
    "token_2", "token_base_2=", "token']='", "sdk-0", "sk.eyJ", "sk.eyJaaaaaaaaaaaaaaaaaaaaa.", "aaaa",
    "AAAAaaaaaaa:APA91b",
    "4/0a", "LS0tLS1CRUdJTi", "bkua_0", "authorization:a1", "login --a -u a -p ",
    ".atlasv1.", "hooks.slack.com/services/", "api/webhooks/1/", "xoxb-", "sshpass -p ", "1//0", "[redacted:a]-u ",
]  # fmt: skip


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_no_text_makes_it_slow(unit: str) -> None:
    """100 kB of the beginning of any shape; a quadratic scan would take several times the minute that the test has."""
    text = unit * (100_000 // len(unit))
    Redactor().text(text)
    Redactor().text(text + "!")
