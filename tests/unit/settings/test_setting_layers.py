"""Which layer counts, what each may hold, and how each mistake is told."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neuraphage.configuration import load, masked_url, shown
from neuraphage.errors import SettingsError
from neuraphage.setting_relations import RELATIONS
from neuraphage.setting_sources import LOWER_ONLY_KEYS, MAX_FILE_BYTES, PROJECT_KEYS
from neuraphage.settings import Settings

NAME = "neuraphage.toml"


def complaint() -> str:
    """What loading says; one line."""
    with pytest.raises(SettingsError) as caught:
        load()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@contextmanager
def without_rights() -> Iterator[None]:
    """Root may read everything, so it becomes nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_the_first_layer_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flag, environment, the project's file, the person's file, default; each is named as the origin."""
    (home / NAME).write_text(
        "max_tokens = 1\nmax_continues = 1\ndefault_model = 'own'\nlease_s = 21\n", encoding="utf-8"
    )
    Path(NAME).write_text("# a comment\nmax_tokens = 2\nmax_continues = 2\n", encoding="utf-8")
    monkeypatch.setenv("NEURAPHAGE_MAX_TOKENS", "3")
    monkeypatch.setenv("NEURAPHAGE_DATA_DIR", "/elsewhere")
    flags = {"data_dir": Path("/flagged")}
    settings = load(**flags)
    assert (settings.max_tokens, settings.max_continues, settings.lease_s) == (3, 2, 21)
    origins = {s.name: (s.origin, s.place) for s in shown(settings, **flags)}
    assert settings.data_dir == Path("/flagged")
    assert origins["data_dir"] == ("flag", "--data-dir")
    assert origins["max_tokens"] == ("environment", "NEURAPHAGE_MAX_TOKENS")
    assert origins["max_continues"] == ("project file", f"{NAME}:3")
    assert origins["lease_s"] == ("user file", f"{home / NAME}:4")
    assert origins["sweep_s"] == ("default", "")


def test_an_empty_variable_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack file may pass on a variable that nobody has set."""
    (home / NAME).write_text("lease_s = 30", encoding="utf-8")
    monkeypatch.setenv("NEURAPHAGE_LEASE_S", "")
    assert load().lease_s == 30


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\nlease_s = = 3", ["TOML", "line 2"]),
        ("lease_s = 20\nlease_s = 21", ["TOML"]),
        ("\n\nleas_s = 3", [":3: leas_s", "did you mean lease_s?"]),
        ("zzz = 3", ["no such setting", "config keys"]),
        ("[lease_s]\nx = 1", [":1: lease_s"]),
        ("[limits]\nlease_s = 1", [":1: limits", "no such table"]),
        ("lease_s = 'abc'", [":1: lease_s", "valid number"]),
        ("lease_s = [1]", [":1: lease_s", "valid number"]),
        ("lease_s = true", ["true and false are no value"]),
        ("lease_s = -1", [":1: lease_s", "greater than or equal to 0.001"]),
        ("lease_s = 1e300", [":1: lease_s", "less than or equal to 3153600000"]),
        ("lease_s = inf", [":1: lease_s", "finite"]),
        ("lease_s = nan", [":1: lease_s", "finite"]),
        ("max_turns = 2.5", [":1: max_turns", "integer"]),
        ("namespace = 'N O'", [":1: namespace"]),
        ("recovery_policy = 'sometimes'", [":1: recovery_policy", "'auto', 'confirm' or 'off'"]),
        ("log_format = 'yaml'", [":1: log_format", "'text' or 'json'"]),
        ("data_dir = 'data'", [":1: data_dir", "absolute"]),
        ("data_dir = 3", [":1: data_dir"]),
        ("data_dir = '~nobody-of-this-name/x'", [":1: data_dir", "home directory"]),
        ('data_dir = "/x\\u0000y"', [":1: data_dir"]),
        ("api_key = 'sk-secret'", [":1: api_key", "ANTHROPIC_API_KEY"]),
        ("ANTHROPIC_API_KEY = 'sk-secret'", ["holds no API key"]),
        ("lease_s = 'a'\nsweep_s = 'b'", ["lease_s", "(and 1 more)"]),
    ],
)
def test_a_wrong_line_in_a_file(home: Path, text: str, words: list[str]) -> None:
    """The file and the line are named, and what would be right; values, which may be secret, are not shown."""
    (home / NAME).write_text(text, encoding="utf-8")
    said = complaint()
    assert said.startswith(str(home / NAME))
    assert all(word in said for word in words), said
    assert "sk-secret" not in said


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "this is a folder"),
        (lambda path: path.write_bytes(b"# ok\nnamespace = '\xff'"), ":2: this is no UTF-8"),
        (lambda path: path.write_bytes("lease_s = 20".encode("utf-16")), "no UTF-8"),
        (lambda path: path.write_text("#" * (MAX_FILE_BYTES + 1), encoding="utf-8"), "at most"),
        (os.mkfifo, "no plain file"),
        (lambda path: path.symlink_to(path), "cannot be read"),
    ],
)
@pytest.mark.parametrize("whose", ["user", "project"])
def test_what_is_no_file_of_settings(home: Path, make: Callable[[Path], object], words: str, whose: str) -> None:
    """Whatever lies under that name, it is told, and nothing waits."""
    path = home / NAME if whose == "user" else Path(NAME)
    make(path)
    said = complaint()
    assert said.startswith(str(path))
    assert words in said


def test_a_file_without_the_right_to_read(home: Path) -> None:
    """Not passed over: the settings in it were meant."""
    (home / NAME).write_text("lease_s = 30", encoding="utf-8")
    (home / NAME).chmod(0)
    for folder in (home, *home.parents):  # only the file itself is in the way
        if os.geteuid() == 0 and folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o755)
    with without_rights():
        said = complaint()
    assert "cannot be read" in said
    assert "Permission denied" in said


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("NEURAPHAGE_LEAS_S", "20", "did you mean NEURAPHAGE_LEASE_S?"),
        ("NEURAPHAGE_ZZZ", "20", "config keys"),
        ("neuraphage_leas_s", "20", "did you mean NEURAPHAGE_LEASE_S?"),
        ("NEURAPHAGE_LEASE_S", "abc", "NEURAPHAGE_LEASE_S: input should be a valid number"),
        ("NEURAPHAGE_LEASE_S", "0", "NEURAPHAGE_LEASE_S: input should be greater than or equal to 0.001"),
    ],
)
def test_a_wrong_variable(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str) -> None:
    """The variable is named, and the nearest one when there is none of that name."""
    monkeypatch.setenv(variable, value)
    assert words in complaint()


@pytest.mark.parametrize(
    "variable",
    [
        "NEURAPHAGE_FORCE_EMBEDDED",
        "NEURAPHAGE_PORT",
        "NEURAPHAGE_SERVICE_HOST",
        "NEURAPHAGE_REDIS_PORT_6379_TCP_ADDR",
        "NEURAPHAGE_REDIS_SERVICE_PORT_HTTP",
    ],
)
def test_variables_that_are_no_settings(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Our own other ones, and those that Kubernetes gives for a service of our name."""
    monkeypatch.setenv(variable, "tcp://10.0.0.1:6379")
    assert load().namespace == "default"


@pytest.mark.parametrize("name", sorted(set(Settings.model_fields) - PROJECT_KEYS - LOWER_ONLY_KEYS - {"rules"}))
def test_what_a_project_may_not_set(name: str) -> None:
    """A cloned repository sends neither keys nor tasks nor files elsewhere, and switches nothing off."""
    Path(NAME).write_text(f"{name} = 'x'", encoding="utf-8")
    said = complaint()
    assert f"{NAME}:1: {name}: a project's file may not set this" in said
    assert f"NEURAPHAGE_{name.upper()}" in said


@pytest.mark.parametrize("value", ['["allow run_command", "deny edit"]', "7", '["nonsense"]'])
def test_rules_of_a_project_are_no_setting(home: Path, value: str) -> None:
    """They hold by trust alone; those of the person stay, whatever a cloned repository writes."""
    (home / NAME).write_text('rules = ["ask edit"]\n', encoding="utf-8")
    Path(NAME).write_text(f"rules = {value}\n", encoding="utf-8")
    assert load().rules == ("ask edit",)


@pytest.mark.parametrize("value", ["[" * 5_000, "9" * 5_000])
def test_a_project_cannot_break_the_reader(value: str) -> None:
    """Nested or numbered beyond what Python reads: one line, no traceback."""
    Path(NAME).write_text(f"max_turns = {value}\n", encoding="utf-8")
    assert "this is no TOML" in complaint()


def test_a_project_only_lowers_what_costs_money(home: Path) -> None:
    """Its limits hold when they are below the person's own, and are refused above."""
    Path(NAME).write_text("max_turns = 50\nmax_cost_microusd = 1_000\nnamespace = 'theirs'\n", encoding="utf-8")
    assert (load().max_turns, load().max_cost_microusd, load().namespace) == (50, 1_000, "theirs")
    Path(NAME).write_text("max_turns = 51\n", encoding="utf-8")
    assert "only lower this, and 51 is above your 50" in complaint()
    (home / NAME).write_text("max_turns = 60\nmax_cost_microusd = 5\n", encoding="utf-8")
    assert load().max_turns == 51
    Path(NAME).write_text("max_cost_microusd = 6\n", encoding="utf-8")
    assert "6 is above your 5" in complaint()


@pytest.mark.parametrize("value", ["'9999'", "' 9_999 '", "'9999.0'", "9999.0", "inf", "[9999]", "2020-01-01"])
def test_no_writing_of_a_number_passes_by_the_comparison(home: Path, value: str) -> None:
    """Settings also read a number in quotes: a project could spend the person's money with one."""
    for key in sorted(LOWER_ONLY_KEYS):
        Path(NAME).write_text(f"{key} = {value}\n", encoding="utf-8")
        assert f"{NAME}:1: {key}: a whole number is wanted, without quotes" in complaint()
        (home / NAME).write_text(f"{key} = '5'\n", encoding="utf-8")
        Path(NAME).write_text(f"{key} = 6\n", encoding="utf-8")
        assert "6 is above your 5" in complaint()
        (home / NAME).write_text(f"{key} = 'many'\n", encoding="utf-8")
        assert "your own value" in complaint()
        (home / NAME).unlink()


def test_a_mark_at_the_beginning_of_a_file(home: Path) -> None:
    """Editors of Windows write one; nobody sees it."""
    (home / NAME).write_text("lease_s = 30\n", encoding="utf-8-sig")
    assert load().lease_s == 30


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: f"{relation.small}-{relation.large}")
def test_two_limits_that_clash(home: Path, relation: object) -> None:
    """Both names, both values, where they come from, and the reason."""
    small, large = relation.small, relation.large  # type: ignore[attr-defined]
    bound = int(getattr(Settings(), large))
    (home / NAME).write_text(f"{small} = {bound + 1}\n", encoding="utf-8")
    said = complaint()
    assert said.startswith("settings clash: ")
    assert f"{small} ({bound + 1})" in said
    assert f"{large} ({bound})" in said
    assert relation.why in said  # type: ignore[attr-defined]
    assert f"{small} from {home / NAME}:1" in said


def test_a_wait_for_the_server_that_would_outlast_a_lease(home: Path) -> None:
    """A renewal over a dead connection must fail early enough to be sent over another one."""
    (home / NAME).write_text("lease_s = 20\nheartbeat_s = 5\nstate_timeout_s = 8\n", encoding="utf-8")
    said = complaint()
    assert "heartbeat_s (5) and two times state_timeout_s (8) together must not exceed lease_s (20)" in said
    assert Settings(lease_s=20, heartbeat_s=4, state_timeout_s=8).state_wait_s == 8


@pytest.mark.parametrize(("lease_s", "heartbeat_s", "wait_s"), [(20, 5, 5), (300, 10, 5), (8, 2, 3), (1, 0.2, 1)])
def test_the_wait_for_the_server_follows_from_the_lease(lease_s: float, heartbeat_s: float, wait_s: float) -> None:
    """Unless it is set: a short lease has a short wait, without a second number to think of."""
    assert Settings(lease_s=lease_s, heartbeat_s=heartbeat_s).state_wait_s == wait_s


@pytest.mark.parametrize("name", [n for n, f in Settings.model_fields.items() if f.annotation in (int, float)])
def test_no_number_is_beyond_what_servers_and_timers_take(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A retention of 1e17 s ended a script of the server half way, and a thread that waits so long ended at once."""
    for value in ("1e17" if name.endswith("_s") else str(10**17), "-1"):
        monkeypatch.setenv(f"NEURAPHAGE_{name.upper()}", value)
        assert complaint().startswith(f"NEURAPHAGE_{name.upper()}: input should be ")


@pytest.mark.parametrize("name", ["connect_timeout_s", "read_timeout_s", "call_timeout_s"])
def test_the_longest_wait_of_a_socket_is_one_that_it_takes(home: Path, name: str) -> None:
    """A longer one would end every call of the model with an error."""
    most_s = next(rule.le for rule in Settings.model_fields[name].metadata if hasattr(rule, "le"))
    with socket.socket() as some:
        some.settimeout(most_s)
    (home / NAME).write_text(f"{name} = {most_s + 1}\n", encoding="utf-8")
    assert f":1: {name}: input should be less than or equal to" in complaint()


@pytest.mark.parametrize(("text", "value"), [("none", "none"), ("45", 45.0), ("0.5", 0.5)])
def test_how_long_a_permission_waits(home: Path, monkeypatch: pytest.MonkeyPatch, text: str, value: object) -> None:
    """A time, or none for ever; five minutes where nobody says anything."""
    assert load().permission_timeout_s == 300.0
    monkeypatch.setenv("NEURAPHAGE_PERMISSION_TIMEOUT_S", text)
    assert load().permission_timeout_s == value
    monkeypatch.setenv("NEURAPHAGE_PERMISSION_TIMEOUT_S", "soon")
    assert "NEURAPHAGE_PERMISSION_TIMEOUT_S" in complaint()


def test_paths_mean_one_folder_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a stack work in other folders than the command that starts them."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("NEURAPHAGE_DATA_DIR", "~/np")
    assert load().data_dir == Path("/home/me/np")
    monkeypatch.setenv("NEURAPHAGE_DATA_DIR", "np")
    assert load().data_dir == Path.cwd() / "np"


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number without a name, as in containers: all it has to name is the data folder. No file of settings is looked
    for in a folder called ~, which a project might bring."""

    def nobody(_uid: int) -> None:
        raise KeyError("no such user")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    Path("~/.config/neuraphage").mkdir(parents=True)
    Path("~/.config/neuraphage", NAME).write_text("lease_s = 77", encoding="utf-8")
    assert "home directory" in complaint()
    assert "NEURAPHAGE_DATA_DIR" in complaint()
    monkeypatch.setenv("NEURAPHAGE_DATA_DIR", "/data")
    assert (load().data_dir, load().lease_s) == (Path("/data"), 20)


def test_servers_that_a_file_names_count_as_named(home: Path) -> None:
    """In whatever layer they stand, they come before the local stack's own."""
    assert not load().names_servers
    (home / NAME).write_text("state_url = 'redis://:pw@h/1'", encoding="utf-8")
    assert load().names_servers


PAIRS = [
    ("redis://:p@h:7/1", "redis://:p@h:7/0"),
    ("redis://h", "redis://h/1"),
    ("redis://h/0", "redis://h/1"),
    ("redis://h/5", "redis://h/0"),
    ("rediss://u:p%40@h:7/1?ssl_ca_certs=/c/a.pem", "rediss://u:p%40@h:7/0?ssl_ca_certs=/c/a.pem"),
    ("redis://h/7?db=0", "redis://h/1"),
    ("unix://:p@/run/s?db=1", "unix://:p@/run/s?db=0"),
    ("unix:///run/s", "unix:///run/s?db=1"),
    ("sentinel://h:1,[::1]:2/1?service_name=m", "sentinel://h:1,[::1]:2/0?service_name=m"),
]


@pytest.mark.parametrize(("state", "broker"), PAIRS)
def test_one_server_that_is_named_is_both(monkeypatch: pytest.MonkeyPatch, state: str, broker: str) -> None:
    """In every process alike, so a client and a worker that know one URL meet; in another database."""
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", state)
    assert load().broker_url.get_secret_value() == broker
    assert {one.name: one.origin for one in shown(load())}["broker_url"] == "derived"


@pytest.mark.parametrize(
    ("broker", "state"),
    [
        ("redis://h/0", "redis://h/1"),
        ("redis://h/1", "redis://h/0"),
        ("redis+socket://:p@/run/s?virtual_host=0", "unix://:p@/run/s?db=1"),
    ],
)
def test_the_state_server_beside_the_broker(monkeypatch: pytest.MonkeyPatch, broker: str, state: str) -> None:
    """The other way round."""
    monkeypatch.setenv("NEURAPHAGE_BROKER_URL", broker)
    assert load().state_url.get_secret_value() == state


@pytest.mark.parametrize(
    ("state", "broker", "words"),
    [
        ("redis://h/3", "redis://h/3/", "the same database"),
        ("redis://h", "redis://:p@h/0", "the same database"),
        ("unix:///run/s?db=1", "redis+socket:///run/s?virtual_host=1", "the same database"),
        (None, "redis://a/0;redis://b/0", "state_url is not set"),
    ],
)
def test_two_servers_that_clash(monkeypatch: pytest.MonkeyPatch, state: str | None, broker: str, words: str) -> None:
    """A purge of the queue would delete the tasks; of several brokers none is the state server."""
    for name, url in (("STATE", state), ("BROKER", broker)):
        if url is not None:
            monkeypatch.setenv(f"NEURAPHAGE_{name}_URL", url)
    with pytest.raises(SettingsError, match=words):
        load()


def test_two_masters_of_the_same_sentinels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names tell them apart."""
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", "sentinel://h:1/0?service_name=a")
    monkeypatch.setenv("NEURAPHAGE_BROKER_URL", "sentinel://h:1/0?service_name=b")
    assert load().names_servers


SECRET = "pa55word"
WRONG_URLS = {
    f"http://:{SECRET}@h/1": "http:// is no server",
    f"redis:/:{SECRET}@h/1": "no URL of a server",
    f"{SECRET}": "no URL of a server",
    f"redis://:{SECRET}@h:port/1": "its port is no number from 0 to 65535",
    f"redis://:{SECRET}@h:99999/1": "its port is no number from 0 to 65535",
    f"redis://:0/{SECRET}@h/1": "%2F",
    f"redis://:{SECRET}@h/one": "'one' is no number of a database",
    f"sentinel://:{SECRET}@h:1/1": "which master",
    f"sentinel://:0/{SECRET}@h:1?service_name=x": "%2F",
    f"sentinel://:{SECRET}/x@h:1?service_name=x": "%2F",
    f"sentinel://:{SECRET}#x@h:1?service_name=x": "%23",
    f"sentinel://:x?{SECRET}@h:1?service_name=x": "takes no such word",
}


@pytest.mark.parametrize("url", WRONG_URLS)
@pytest.mark.parametrize(("wrong", "other"), [("state_url", "broker_url"), ("broker_url", "state_url")])
def test_a_wrong_url_is_told_by_its_own_name(
    home: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, other: str, url: str
) -> None:
    """Whether the other one is given or not, and in whatever layer it stands; nothing of the password is shown."""
    variable = f"NEURAPHAGE_{wrong.upper()}"
    monkeypatch.setenv(variable, url)
    for given in ("", "redis://h/5"):
        monkeypatch.setenv(f"NEURAPHAGE_{other.upper()}", given)
        said = complaint()
        assert said.startswith(f"{variable}: ")
        assert WRONG_URLS[url] in said
        assert other.upper() not in said.upper()
        assert SECRET not in said
    monkeypatch.delenv(variable)
    (home / NAME).write_text(f"# mine\n{wrong} = '{url}'\n", encoding="utf-8")
    assert complaint().startswith(f"{home / NAME}:2: {wrong}: ")


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "rediss://u:p%2Fw@[::1]:6380/3?ssl_ca_certs=/ca",
        "unix://:p@/run/s?db=1",
        "sentinel://:p@a:1,b/1?service_name=x",
        "sentinel://a:1;sentinel://b:2/0?master_name=x",
    ],
)
def test_urls_of_servers(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Every form that the documents name is taken for both; a broker may be named as kombu does."""
    for name, other in (("STATE", "BROKER"), ("BROKER", "STATE")):
        monkeypatch.setenv(f"NEURAPHAGE_{name}_URL", url)
        monkeypatch.setenv(f"NEURAPHAGE_{other}_URL", "redis://elsewhere/9")
        assert getattr(load(), f"{name.lower()}_url").get_secret_value() == url
    for of_kombu in ("redis+socket:///run/s?virtual_host=0", "redis://a:1/0;redis://b:2/0"):
        monkeypatch.setenv("NEURAPHAGE_BROKER_URL", of_kombu)
        assert load().broker_url.get_secret_value() == of_kombu


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("redis://h/1", "redis://h/1"),
        ("redis://user:pw@h/1", "redis://user:***@h/1"),
        ("rediss://:p@w:x@h/1?ssl_ca_certs=/ca", "rediss://:***@h/1?ssl_ca_certs=/ca"),
        ("unix://:pw@/run/s?db=1", "unix://:***@/run/s?db=1"),
        ("sentinel://:pw@a:1,b:2/1?sentinel_password=pw&x=1", "sentinel://:***@a:1,b:2/1?sentinel_password=***&x=1"),
        ("sentinel://:pw@a:1;sentinel://:pw@b:1/0", "sentinel://:***@b:1/0"),
    ],
)
def test_passwords_are_masked(url: str, masked: str) -> None:
    """Rather too much is hidden than too little."""
    assert masked_url(url) == masked


def test_a_key_is_read_from_the_environment_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file holds one, a project's file says nothing about another server, and no listing shows it."""
    (home / NAME).write_text("openai_api_key = 'k-4711-of-this-test'\n", encoding="utf-8")
    assert complaint().endswith("a file of settings holds no API key; set NEURAPHAGE_OPENAI_API_KEY in the environment")
    (home / NAME).unlink()
    for line in ("openai_api_key = 'k'", "openai_base_url = 'http://stranger/v1'"):
        Path(NAME).write_text(line, encoding="utf-8")
        assert "a project's file may not set this" in complaint()
    Path(NAME).unlink()
    monkeypatch.setenv("NEURAPHAGE_OPENAI_API_KEY", "k-4711-of-this-test")
    settings = load()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "k-4711-of-this-test"
    assert {s.name: s.value for s in shown(settings)}["openai_api_key"] == "***"
    assert "4711" not in repr(settings)


@pytest.mark.parametrize("layer", ["file", "environment"])
def test_tiers_and_further_fields(home: Path, monkeypatch: pytest.MonkeyPatch, layer: str) -> None:
    """As tables of a file, or as one text; tiers that are not named stay as they are. A project's file sets neither."""
    if layer == "file":
        text = "request_extra = {temperature = 0.2}\n[tiers]\nworker = ['a', 'openai:b']\nmine = 'c'\n"
        (home / NAME).write_text(text, encoding="utf-8")
    else:
        monkeypatch.setenv("NEURAPHAGE_TIERS", "worker = a, openai:b; mine=c")
        monkeypatch.setenv("NEURAPHAGE_REQUEST_EXTRA", '{"temperature": 0.2}')
    settings = load()
    assert {**settings.tiers, "cheap": ()} == {
        "cheap": (), "worker": ("a", "openai:b"), "expert": ("claude-opus-5-5",), "mine": ("c",),
    }  # fmt: skip
    assert settings.request_extra == {"temperature": 0.2}
    told = {s.name: s.value for s in shown(settings)}
    assert told["tiers"] == "cheap = claude-haiku-5-5; worker = a, openai:b; expert = claude-opus-5-5; mine = c"
    assert told["request_extra"] == '{"temperature": 0.2}'
    for line in ("tiers = {cheap = 'claude-opus-5-5'}", "request_extra = {a = 1}"):
        Path(NAME).write_text(line, encoding="utf-8")
        assert "a project's file may not set this" in complaint()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIERS", "worker="),
        ("TIERS", "worker"),
        ("TIERS", "Worker=a"),
        ("TIERS", "worker=openai:"),
        ("TIERS", "worker=" + ",".join("m" * 99)),
        ("REQUEST_EXTRA", "[]"),
        ("REQUEST_EXTRA", '{"messages": []}'),
    ],
)
def test_what_is_no_tier_and_no_field(home: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Refused at the start, by the name of the variable."""
    monkeypatch.setenv(f"NEURAPHAGE_{name}", value)
    assert complaint().startswith(f"NEURAPHAGE_{name}: ")
