"""What docker-compose.yml promises, read from the file: its schema, and what every service must have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import check_jsonschema
import jsonschema
import pytest
import yaml
from composefile import MissingVariable, Service, read_compose, seconds

from neuraphage.queue.celery_config import celery_settings
from neuraphage.settings import Settings
from source_tree import ROOT

SCHEMA = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor" / "compose-spec.json"
PASSWORDS = {"REDIS_PASSWORD": "redis-pass", "FLOWER_PASSWORD": "flower-pass", "ANTHROPIC_API_KEY": "model-key"}
NEEDED = ("REDIS_PASSWORD", "FLOWER_PASSWORD")


def project(folder: Path, values: dict[str, str]) -> Path:
    """A project folder with the repository's file and these variables."""
    (folder / "docker-compose.yml").write_bytes((ROOT / "docker-compose.yml").read_bytes())
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in values.items()), encoding="utf-8")
    return folder


@pytest.fixture
def services(tmp_path: Path) -> dict[str, Service]:
    return read_compose(project(tmp_path, PASSWORDS))


@pytest.fixture
def document() -> Any:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


def test_the_file_keeps_the_schema_of_compose(document: Any) -> None:
    """The schema of the Compose specification; a misspelt key would be ignored by no engine."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    document["services"]["worker"]["stop_grace_periode"] = "2m"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_every_service_is_kept_up_checked_and_without_rights(services: dict[str, Service]) -> None:
    """Restarted when it ends, with a health check, and nothing of root's powers."""
    assert set(services) == {"redis", "relay", "worker", "control", "beat-1", "beat-2", "flower"}
    for service in services.values():
        assert service.raw["restart"] == "unless-stopped"
        assert service.check
        assert service.raw["cap_drop"] == ["ALL"]
        assert "privileged" not in service.raw
        assert service.raw.get("user", "") != "root"


def test_no_secret_is_part_of_a_command(services: dict[str, Service]) -> None:
    """Neither of what runs nor of what checks it."""
    for service in services.values():
        line = " ".join([*service.command, *service.check])
        assert [value for value in PASSWORDS.values() if value in line] == []


def test_only_the_worker_gets_the_key_of_the_model(services: dict[str, Service]) -> None:
    """The others call no model."""
    assert {name for name, one in services.items() if "model-key" in one.env.values()} == {"worker"}


def test_no_key_is_demanded(tmp_path: Path) -> None:
    """A model of one's own needs none; what a worker can call is its own to say, and its settings'."""
    environ = read_compose(project(tmp_path, {name: PASSWORDS[name] for name in NEEDED}))["worker"].env
    assert (environ["ANTHROPIC_API_KEY"], environ["OPENAI_API_KEY"]) == ("", "")


@pytest.mark.parametrize("name", NEEDED)
def test_nothing_starts_without_its_secret(tmp_path: Path, name: str) -> None:
    """A server without a password, or a page without a login, is worse than an error."""
    with pytest.raises(MissingVariable, match=name):
        read_compose(project(tmp_path, {**PASSWORDS, name: ""}))


def test_every_worker_has_time_to_stop(services: dict[str, Service]) -> None:
    """More than Celery's own soft shutdown takes."""
    soft_s = celery_settings(Settings())["worker_soft_shutdown_timeout"]
    for service in services.values():
        assert seconds(service.raw["stop_grace_period"]) > soft_s
    assert seconds(services["worker"].raw["stop_grace_period"]) >= Settings().read_timeout_s * 2


def test_two_beats_and_no_shared_schedule(services: dict[str, Service]) -> None:
    """Each health check looks at its own beat's file."""
    beats = [service for service in services.values() if "beat" in service.command]
    files = [service.command[service.command.index("-s") + 1] for service in beats]
    assert len(set(files)) == len(beats) == 2
    for service, file in zip(beats, files, strict=True):
        assert f" {Path(file).name}.tick " in service.check[-1]


def test_every_volume_has_a_name(document: Any, services: dict[str, Service]) -> None:
    """What must outlive a container is in a named volume; only the server's configuration is bound from here."""
    mounted = {volume.split(":")[0] for service in services.values() for volume in service.raw["volumes"]}
    assert mounted == {*document["volumes"], "./deploy/redis.conf"}
