"""`doctor` on real servers: what it finds there, and how it ends."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from clikit import Bench, CommandLine, Ran
from neuraphage.server_checks import read_broker


def levels(ran: Ran) -> dict[str, str]:
    """Level of each finding by its check; the names and fields are stable."""
    assert set(ran.json) == {"ok", "findings"}
    assert all(set(finding) == {"check", "level", "found", "to_do"} for finding in ran.json["findings"])
    assert ran.json["ok"] is (ran.code == 0)
    return {finding["check"]: finding["level"] for finding in ran.json["findings"]}


def test_without_a_server(cli: CommandLine) -> None:
    """What needs none is looked at all the same."""
    ran = cli("doctor", "--json")
    assert ran.code == 1
    found = levels(ran)
    assert found.pop("state server") == "problem"
    assert found.pop("API key") == "warning"
    found.pop("command limits", None)  # where there is a sandbox
    host = (
        "python", "file names", "packages", "price", "tools", "sandbox", "workers package", "data folder", "quotas",
        "relay",
    )  # fmt: skip
    assert found == dict.fromkeys(host, "ok")
    assert "neuraphage dev" in cli("doctor").out


def test_a_server_that_is_not_set_up(cli: CommandLine, bench: Bench) -> None:
    """Each wrong setting of a real server is found, told with what to do, and gone when it is set right."""
    ask = bench.kit.client.config_set
    before = {name: bench.kit.client.config_get(name) for name in ("appendonly", "maxmemory-policy")}
    try:
        ask("maxmemory-policy", "allkeys-lru")
        ask("appendonly", "no")
        ran = cli("doctor", "--json")
        found = levels(ran)
        ask("maxmemory-policy", "noeviction")
        ask("appendonly", "yes")
        right = levels(cli("doctor", "--json"))
    finally:
        for answer in before.values():
            for name, value in answer.items():
                ask(name, value)
    assert ran.code == 1
    assert {name: found[name] for name in ("state eviction", "broker eviction", "durability", "databases")} == {
        "state eviction": "problem",
        "broker eviction": "problem",
        "durability": "problem",
        "databases": "ok",
    }
    assert [right[name] for name in ("state eviction", "broker eviction")] == ["ok", "ok"]
    assert right["durability"] in ("ok", "warning")  # appendfsync is the fixture's
    assert right["clock"] == "ok"
    assert right["workers of np.run"] == right["workers of np.control"] == right["beat"] == "problem"


def test_state_and_broker_in_one_database(
    cli: CommandLine, bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Found by what the servers say of themselves, where the two URLs look like two servers."""
    url = urlsplit(bench.client.settings.state_url.get_secret_value())
    (tmp_path / "other").symlink_to(url.path)
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", f"unix://{tmp_path / 'other'}?db=0")
    assert levels(cli("doctor", "--json"))["databases"] == "problem"


def test_a_server_that_refuses_us(cli: CommandLine, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with a finding, not with an error; no password and no key is shown."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-5ecret")
    broker = bench.client.settings.broker_url.get_secret_value()
    monkeypatch.setenv("NEURAPHAGE_BROKER_URL", broker.replace("://", "://:pa55word@"))
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", "redis://:pa55word@127.0.0.1:1/1")
    bench.kit.client.config_set("requirepass", "right")
    try:
        ran = cli("doctor", "--json")
    finally:
        bench.kit.client.config_set("requirepass", "")
    found = levels(ran)
    assert ran.code == 1
    assert found["state server"] == found["broker server"] == "problem"
    assert found["API key"] == "ok"
    assert "pa55word" not in ran.out + ran.err
    assert "5ecret" not in ran.out + ran.err


def test_a_user_who_may_not_ask(bench: Bench) -> None:
    """A server that answers no CONFIG and no INFO, as providers' servers may, is read as far as it goes."""
    bench.kit.client.execute_command("ACL", "SETUSER", "plain", "on", ">pw", "~*", "+@all", "-config", "-info")
    broker = bench.client.settings.broker_url.get_secret_value().replace("://", "://plain:pw@")
    try:
        info = read_broker(bench.client.settings.model_copy(update={"broker_url": SecretStr(broker)}))
    finally:
        bench.kit.client.execute_command("ACL", "DELUSER", "plain")
    assert (info.version, info.appendonly, info.appendfsync, info.maxmemory_policy) == (
        "unknown", None, None, None,
    )  # fmt: skip
    assert info.ahead_ms is not None


def test_rules_that_would_stop_a_turn(cli: CommandLine, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who may not run one of the scripts' commands is told which, before a turn meets it."""
    bench.kit.client.execute_command("ACL", "SETUSER", "poor", "on", ">pw", "~*", "&*", "+@all", "-rpush")
    url = bench.client.settings.state_url.get_secret_value().replace("://", "://poor:pw@")
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", url)
    try:
        ran = cli("doctor", "--json")
        bench.kit.client.execute_command("ACL", "SETUSER", "poor", "+rpush")
        right = levels(cli("doctor", "--json"))
    finally:
        bench.kit.client.execute_command("ACL", "DELUSER", "poor")
    (found,) = [finding for finding in ran.json["findings"] if finding["check"] == "access rules"]
    assert (found["level"], right["access rules"]) == ("problem", "ok")
    assert "RPUSH" in found["found"]


def test_a_workers_package_that_hides_ours(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, with what to write instead."""
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (finding,) = [f for f in cli("doctor", "--json").json["findings"] if f["check"] == "workers package"]
    assert finding["level"] == "warning"
    assert str(tmp_path / "workers" / "__init__.py") in finding["found"]
    assert "neuraphage.celery_app" in finding["to_do"]


def test_a_data_folder_that_cannot_be_written(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file where the folder should be."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("NEURAPHAGE_MIN_FREE_BYTES", str(10**15))
    assert levels(cli("doctor", "--json"))["data folder"] == "problem"
    monkeypatch.delenv("NEURAPHAGE_MIN_FREE_BYTES")
    assert levels(cli("doctor", "--json", "--data-dir", str(tmp_path / "file")))["data folder"] == "problem"


@pytest.mark.parametrize(("mode", "level"), [(0o600, "ok"), (0o640, "warning"), (0o604, "warning")])
def test_a_file_of_settings_that_others_can_read(cli: CommandLine, tmp_path: Path, mode: int, level: str) -> None:
    """It may hold the URL of a server with its password."""
    path = tmp_path / "config" / "neuraphage" / "neuraphage.toml"
    path.parent.mkdir(parents=True)
    path.write_text("lease_s = 30", encoding="utf-8")
    path.chmod(mode)
    assert levels(cli("doctor", "--json"))["user settings"] == level


@pytest.mark.parametrize(("text", "level"), [('[[rules]]\nrule = "ask edit"\n', "ok"), ("[[rules", "problem")])
def test_a_file_of_rules(cli: CommandLine, tmp_path: Path, text: str, level: str) -> None:
    """One that cannot be read keeps workers from beginning, so it is told with what to do."""
    path = tmp_path / "config" / "neuraphage" / "rules.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    assert levels(cli("doctor", "--json"))["user rules"] == level


@pytest.mark.parametrize(("then", "level"), [("", "ok"), ("# more\n", "warning"), (None, "warning")])
def test_a_trusted_project(cli: CommandLine, tmp_path: Path, then: str | None, level: str) -> None:
    """One whose file has changed is told, with what to do; a broken file of the person keeps workers from beginning."""
    project = tmp_path / "project"
    project.mkdir()
    file = project / "neuraphage.toml"
    file.write_text('rules = ["ask edit"]\n', encoding="utf-8")
    assert cli("trust", str(project)).code == 0
    if then is None:
        file.unlink()
    else:
        file.write_text(file.read_text(encoding="utf-8") + then, encoding="utf-8")
    assert levels(cli("doctor", "--json"))["trusted projects"] == level
    (tmp_path / "config" / "neuraphage" / "trust.toml").write_text("[[projects", encoding="utf-8")
    assert levels(cli("doctor", "--json"))["trusted projects"] == "problem"
