"""A table of secrets by the places where they stand, of what only looks like one, and the names that make one."""

from __future__ import annotations

import base64
import uuid

import pytest

from neuraphage.redaction import assignments, environment
from neuraphage.redaction.redactor import Redactor

HEX = "0123456789abcdef" * 8
MIX = "aB3dE5fG7hJ9kL1mN0pQ2rS4tU6vW8xY" * 5
UPPER = "A1B2C3D4E5F6G7H8J9K0" * 4

LOGIN = base64.b64encode(b"user:correct-horse").decode()
PLACES = [
    ("Authorization: Basic " + LOGIN, LOGIN),
    ("Proxy-Authorization: basic " + LOGIN, LOGIN),
    ('-H "Authorization: token ' + HEX[:40] + '"', HEX[:40]),
    ("the header was Bearer " + MIX[:40], MIX[:40]),
    ("machine example.org login me password s3cret!", "s3cret!"),
    ("machine example.org\n  login me\n  password s3cret!\n", "s3cret!"),
    ("db.example.org:5432:app:me:swordfish", "swordfish"),
    ("*:*:*:postgres:swordfish\n", "swordfish"),
    ('{"auths": {"https://index.docker.io/v1/": {"auth": "' + LOGIN + '"}}}', LOGIN),
    ("[default]\naws_access_key_id = AK" + "IAIOSFODNN7EXAMPLE\n", "IOSFODNN7"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("aws_session_token = " + MIX[:100], MIX[:40]),
    ("password: hunter2", "hunter2"),
    ("db:\n  password: Tr0ub4dor&3\n  port: 5432", "Tr0ub4dor"),
    ("passphrase = x9!mmm", "x9!mmm"),
    ("client_secret: a8f5f167f44f4964e6c998dee827110c", "a8f5f167"),
    ("secret_key = 'django-insecure-9x$k2m'", "insecure-9x"),
    ("export AZURE_DEVOPS_PAT=" + MIX[:52], MIX[:30]),
    ("PAYMENT_SK=" + MIX[:30], MIX[:30]),
    ("NPM_AUTH=" + LOGIN, LOGIN),
    ("GPG_PASSPHRASE=a1b2c3d4e5", "a1b2c3d4e5"),
    ("machine example.org login me password swordfish", "swordfish"),
    ("docker login -p S3cret-of-hub -u me", "S3cret-of-hub"),
    ("docker login -u me -p S3cret-of-hub", "S3cret-of-hub"),
    ("docker login hub.example.org:5000 -u me -p S3cret-of-hub", "S3cret-of-hub"),
    ("redis-cli -a swordfish ping", "swordfish"),
    ("valkey-cli -h cache.example.org -a swordfish ping", "swordfish"),
    ("<server><id>hub</id><password>S3cret!</password></server>", "S3cret!"),
    ('network={\n  psk="' + MIX[:12] + '"\n}', MIX[:12]),
    ("Cookie: theme=dark; sessionid=" + MIX[:32] + "; lang=en", MIX[:32]),
    ("Set-Cookie: connect.sid=s%3A" + MIX[:32] + "; Path=/", MIX[:32]),
    ("JSESSIONID=" + UPPER[:32], UPPER[:32]),
    ("FLOWER_BASIC_AUTH=admin:swordfish", "swordfish"),
    ("celery flower --basic_auth=admin:swordfish --port=5555", "swordfish"),
    ("basic_auth = ['neuraphage:" + MIX[:43] + "']", MIX[:43]),
    ("//registry.npmjs.org/:_authToken=" + str(uuid.UUID(HEX[:32])), "01234567-89ab"),
    ("//registry.example.org/:_auth=" + LOGIN, LOGIN),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + MIX[:86] + "==;End", MIX[:60]),
    ("Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=" + MIX[:43] + "=", MIX[:40]),
    ("https://a.blob.core.windows.net/c?sv=2022-11-02&sig=" + MIX[:40] + "%3D&se=1", MIX[:40]),
    ("https://b.s3.amazonaws.com/k?X-Amz-Signature=" + HEX[:64], HEX[:40]),
    ("curl -u admin:swordfish https://h/", "swordfish"),
    ("curl --user 'admin:s3cr3t' https://h/", "s3cr3t"),
    ("sshpass -p swordfish ssh h", "swordfish"),
    ("sshpass -pswordfish ssh h", "swordfish"),
    ("mysql -u root -pS3cret! db", "S3cret!"),
    ("mysqldump -pS3cret! db", "S3cret!"),
    ("tool login --password s3cr3t-x", "s3cr3t-x"),
    ("tool --api-key " + HEX[:32], HEX[:32]),
    ("git clone https://" + HEX[:40] + "@git.example.org/r.git", HEX[:40]),
    ("git clone https://oauth2:" + HEX[:20] + "@gitlab.com/r.git", HEX[:20]),
    ("X-Vault-Token: s." + MIX[:24], MIX[:24]),
    ("PRIVATE-TOKEN: " + MIX[:20], MIX[:20]),
    ("VAULT_TOKEN=s." + MIX[:24], MIX[:24]),
    ("TWILIO_AUTH_TOKEN=" + HEX[:32], HEX[:32]),
    # names of which `pass` and `pw` are the last word
    ("DB_PASS=" + MIX[:20], MIX[:20]),
    ("DB_PASS=hunter2", "hunter2"),
    ("export MYSQL_PWD=Tr0ub4dor&3", "Tr0ub4dor"),
    ("SSHPASS=hunter2 sshpass -e ssh h", "hunter2"),
    ("PASSWORD=hunter2\nPORT=80", "hunter2"),
    ("host1 ansible_ssh_pass=" + MIX[:12] + " ansible_user=me", MIX[:12]),
    ("ansible_become_pass: s3cr3t", "s3cr3t"),
    ("pass: Tr0ub4dor&3", "Tr0ub4dor"),
    ("pw: " + MIX[:12], MIX[:12]),
    ("Server=h;Uid=me;pwd=" + MIX[:12] + ";", MIX[:12]),
    ("dbPass = 's3cr3t-of-db1'", "s3cr3t-of"),
    ('{"pwd": "' + MIX[:12] + '"}', MIX[:12]),
    ("jwt: " + MIX[:30], MIX[:30]),
    ("GH_CREDS='" + MIX[:20] + "'", MIX[:20]),
    ("X_BEARER=" + MIX[:20], MIX[:20]),
    # in JSON text, in a URL, in a URL within a URL
    ('{"body": "{\\"password\\": \\"Tr0ub4dor&3\\"}"}', "Tr0ub4dor"),
    ('"{\\\\\\"token\\\\\\": \\\\\\"' + MIX[:20] + '\\\\\\"}"', MIX[:20]),
    ('{"auths": "{\\"h\\": {\\"auth\\": \\"' + LOGIN + '\\"}}"}', LOGIN),
    ('{"line": "export MY_TOKEN=a1b2c3d4e5f6\\nexit"}', "a1b2c3d4e5f6"),
    ('{"netrc": "machine example.org\\nlogin me\\npassword s3cret!\\n"}', "s3cret!"),
    ('{"h": "x\\nBearer ' + MIX[:40] + '\\n"}', MIX[:40]),
    ('{"h": "{\\"Authorization\\": \\"Bearer ' + MIX[:40] + '\\"}"}', MIX[:40]),
    ("https://h/a?key=" + MIX[:24], MIX[:24]),
    ("[a](https://h/a?x=1&api_key=" + MIX[:24] + ")", MIX[:24]),
    ('{"u": "https://h/a?x=1\\u0026key=' + MIX[:24] + '"}', MIX[:24]),
    ('{"u": "https://h/a?x=1\\u0026sig=' + MIX[:24] + '"}', MIX[:24]),
    ("https://h/?next=%2Fa%3Ftoken%3D" + MIX[:24] + "%26x%3D1", MIX[:24]),
    ("client_secret=a%3Db%26c%2Fd1E2f3&x=1", "d1E2f3"),
    ("<a href='https://h/a?x=1&amp;token=" + MIX[:24] + "'>", MIX[:24]),
    ("me:swordfish@tcp(db:3306)/app", "swordfish"),
    # name and value side by side
    ('<add key="Password" value="S3cret!" />', "S3cret!"),
    ('<property name="javax.persistence.jdbc.password" value="s3cr3t"/>', "s3cr3t"),
    ('<add name="ApiKey" value="' + MIX[:20] + '"/>', MIX[:20]),
    ('<input type="password" value="s3cr3t(1)">', "s3cr3t(1)"),
    ('[{"name": "DB_PASSWORD", "value": "s3cr3t"}]', "s3cr3t"),
    ('[{"key":"token","value":"' + MIX[:20] + '"}]', MIX[:20]),
    ("- name: DB_PASSWORD\n  value: s3cr3t\n", "s3cr3t"),
    ("- name: DB_PASS\n              value: 's3cr3t'\n", "s3cr3t"),
    # options that take a password
    ("openssl pkcs12 -in a -passin pass:swordfish -passout pass:x", "swordfish"),
    ("openssl enc -aes-256-cbc -pass pass:swordfish", "swordfish"),
    ("zip -P swordfish a.zip b", "swordfish"),
    ("zip -r -P swordfish a.zip b", "swordfish"),
    ("zip -rP swordfish a.zip b", "swordfish"),
    ("unzip -P swordfish a.zip", "swordfish"),
    ("7z a -pswordfish a.7z b", "swordfish"),
    ("7z x a.7z -pswordfish", "swordfish"),
    ("unrar x -pswordfish a.rar", "swordfish"),
    ("rar a -hpswordfish a.rar", "swordfish"),
    ("mongosh -u me -p swordfish", "swordfish"),
    ("mongosh db.example.org -u me -p 'swordfish'", "swordfish"),
    ("mongodump -p swordfish", "swordfish"),
    ("ldapsearch -x -w swordfish", "swordfish"),
    ('ldapsearch -x -H ldap://h -D "cn=admin,dc=example,dc=org" -w swordfish -b dc=x', "swordfish"),
    ("ldappasswd -D uid=me,dc=x -w swordfish", "swordfish"),
    ("htpasswd -b .htpasswd me swordfish", "swordfish"),
    ("htpasswd -cb .htpasswd me swordfish", "swordfish"),
    ("htpasswd -c -b .htpasswd me swordfish", "swordfish"),
    ("htpasswd -nbB me swordfish", "swordfish"),
    ("smbclient //h/s -U me%swordfish", "swordfish"),
    ("smbclient //h/s -U 'DOM\\me%swordfish'", "swordfish"),
    ("sqlcmd -S h -U sa -P swordfish -Q x", "swordfish"),
    ("keytool -list -storepass s3cr3t -keystore k", "s3cr3t"),
    ("plink -ssh me@h -pw s3cr3t", "s3cr3t"),
    ("redis://default:swordfish@cache:6379/0", "swordfish"),
    ("-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + MIX[:64] + "\n-----END OPENSSH " + "PRIVATE KEY-----", MIX[:64]),
    ("-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\n" + MIX[:64] + "\n=abcd\n", MIX[:64]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), PLACES)
def test_a_secret_is_known_by_its_place(text: str, secret: str) -> None:
    """Headers, files of logins, names of settings, command lines; twice is once."""
    redacted = Redactor().text(text)
    assert secret not in redacted
    assert "[redacted:" in redacted
    assert Redactor().text(redacted) == redacted


ORDINARY = [
    "    def f(self):\n        pass\n\n    except OSError: pass\n",
    "if x: pass  # nothing; else: pass",
    "pass: 12 of 13, first pass: 3/4; the second pass: fine",
    "first_pass: done\nlast_pass = 7\nnum_pass: 100\n",
    "PASS=12 FAIL=3 tests/test_a.py::test_pass[pw=1]",
    "bypass=a1b2c3d4e5 compass: a1b2c3d4e5 lowpass=f=3000 trespass='a1b2c3d4e5'",
    "cd src && pwd; PWD=/home/me/src OLDPWD=/home/me pwd=$(pwd)",
    "pwd: /home/me/src2\n",
    "pwd = os.getcwd()",
    "jwt = make_jwt(user)\ncreds = load_creds()\nbearer: HTTPBearer\ndsn = settings.dsn2.url",
    "key=value, and key=another-value; sort_key=created_at1",
    "https://h/a?key=name&sort=key&page=12",
    "https://h/a?key=row-2024&token=&auth=basic",
    "https://h/search?q=password&pass=true",
    'name="password" type="password" placeholder="value"',
    '<add key="Password" value="" /> <add key="Password" value="{{ password1 }}" />',
    '{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db1", "key": "password"}}}',
    '{"key": "auth", "value": "oauth2"}',
    "- name: DB_PASSWORD\n  value: $(DB_PASSWORD_1)\n",
    "docker run -p 8080:80 image; docker run -d -p 127.0.0.1:8080:80 -w /app2 image",
    "docker run -d a=b -w /work image",
    "mkdir -p a1/b2; cp -p a1 b2; ssh -p 2222 h; tar -p -xf a1.tar; ps -p 123",
    "zip -r a1.zip b; unzip -p a1.zip b; gzip -k a1; zip -q -9 a1.zip b",
    "7z l a1.7z; unrar x a1.rar; 7z a -p a1.7z",
    "mongod --port 27017 -p; mongosh --port 27017; mongosh -p 27017",
    "ldapsearch -x -W -b dc=example,dc=org",
    "htpasswd -c .htpasswd me",
    "smbclient //h/s -U me; date -u +%Y-%m-%d; ps -U me",
    "openssl pkcs12 -passin env:PW1 -passout file:/etc/pw1 -passin stdin",
    "keytool -storepass:env PW1; java -password PASSWORD",
    "iptables -P INPUT DROP; rsync -P a1 b2; wget -P a1 https://h/",
    "time=12:30@tcp(x; net.Dial@unix(path)",
    "the machine\\nlogin is fine\\npassword is not",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_stays(text: str) -> None:
    """Statements, tests that passed, folders, keys of rows, ports, options of the same letter."""
    assert Redactor().text(text) is text


NOT_IN_TEXT = {
    "KEY": "the key of a row, a cache, a map: as often as one of a service, and looking alike",
    "KEYS": "as KEY",
    "TOKENS": "counts of a model's tokens, lists",
    "SECRETS": "a list or a folder of them",
    "PEM": "a private key is known by its BEGIN line, and a certificate is none",
    "COOKIE": "its parts are: names of sessions",
    "AUTHS": "the logins in it are, by `auth`",
    "AUTH_CONFIG": "as AUTHS",
    "PASSWORDS": "a list of them",
    **dict.fromkeys(("CONNECTION_STRING", "CONN_STR", "CONNSTR"), "the passwords and keys in it are, by their names"),
}
"""Names of variables that say nothing of a value in a text, and why."""


@pytest.mark.parametrize("name", sorted(environment.SECRET_WORDS | environment.LAST_WORDS | {*environment.ENDINGS}))
def test_what_names_a_secret_of_an_environment_names_one_in_a_text(name: str) -> None:
    """Or a reason stands here."""
    lines = [f"MY_{name}={MIX[:20]}", f'my_{name.lower()} = "{MIX[:20]}"', f"{name.lower()}: {MIX[:20]}\n"]
    known = [MIX[:20] not in Redactor().text(line) for line in lines[: 3 if name not in {"PAT", "SK"} else 2]]
    assert known == [name not in NOT_IN_TEXT] * len(known)


@pytest.mark.parametrize(
    "name",
    [
        *(*assignments.WORDS, *assignments.JOINED_WORDS, *assignments.SHORT_WORDS),
        *(f"{word}{gap}key" for word in assignments.KEYS for gap in ("", "_")),
        *(f"{word}{name}" for word in assignments.PASS_OF for name in ("pass", "pwd", "pw")),
    ],
)
def test_what_names_a_secret_in_a_text_names_one_of_an_environment(name: str) -> None:
    """The other way round there is no exception."""
    value = MIX[:20]
    assert environment.secrets_in({f"MY_{name.upper()}": value}) == {value}


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("SSHPASS", "swordfish", {"swordfish"}),
        ("GCP_CREDS", "swordfish", {"swordfish"}),
        ("JWT", "swordfish", {"swordfish"}),
        ("API_BEARER", "swordfish", {"swordfish"}),
        ("TS_AUTHKEY", "swordfish", {"swordfish"}),
        ("SENTRY_DSN", "https://" + HEX[:32] + "@o1.example.org/2", {HEX[:32]}),
        ("DB_DSN", "host=h password=swordfish", {"host=h password=swordfish", "swordfish"}),
        ("DB_DSN", "me:swordfish@tcp(h:1)/d", {"me:swordfish@tcp(h:1)/d", "swordfish"}),
        ("JDBC_DSN", "jdbc:x://h/d?user=me&password=swordfish", {"swordfish"}),
        ("SIGNING_PEM", "-----BEGIN " + "PRIVATE KEY-----\nabc", {"-----BEGIN " + "PRIVATE KEY-----\nabc"}),
        ("DB_CONNECTION_STRING", "Server=h;Password=swordfish;", {"Server=h;Password=swordfish;", "swordfish"}),
        ("SIGNING_PEM", "signing.pem", set()),
        ("CA_PEM", "-----BEGIN " + "CERTIFICATE-----\nabc", set()),
        ("BYPASS", "not-a-pass", set()),
        ("JWT_AUDIENCE", "not-a-secret", set()),
        ("PEM_FOLDER", "not-a-secret", set()),
        ("AUTH_CONFIG_NAME", "not-a-secret", set()),
    ],
)
def test_values_of_an_environment(name: str, value: str, found: set[str]) -> None:
    """The value itself, and what is secret within it."""
    assert environment.secrets_in({name: value}) == found


def test_dockers_logins_in_an_environment() -> None:
    """The whole, each login of it, and no address."""
    value = '{"auths": {"https://index.docker.io/v1/": {"auth": "' + LOGIN + '"}}}'
    assert environment.secrets_in({"DOCKER_AUTH_CONFIG": value}) == {value, LOGIN, "correct-horse"}
