"""The Dockerfile, as far as it can be judged without an engine: linted, its user and folders, the wheel it builds."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from source_tree import ROOT

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
HADOLINT = Path(sys.executable).with_name("hadolint")


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments), with continued lines joined and comments left out."""
    lines = [line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in joined.splitlines() if line]


def last_stage() -> dict[str, str]:
    """The instructions of the image that is kept; the last one of each kind."""
    found: dict[str, str] = {}
    for name, rest in instructions():
        found = {} if name == "FROM" else {**found, name: rest}
    return found


@pytest.mark.skipif(not HADOLINT.exists(), reason="hadolint has no package for this machine")
def test_the_linter_has_nothing_to_say() -> None:
    """hadolint knows the usual mistakes."""
    done = subprocess.run([str(HADOLINT), str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_as_a_user_of_its_own_with_its_folders() -> None:
    """Volumes of docker-compose.yml are mounted where that user may write; named ones take over the owner."""
    stage = last_stage()
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", stage["USER"])
    assert f"--uid {stage['USER'].split(':')[0]} " in stage["RUN"]
    folders = stage["RUN"].partition("install --directory")[2].split()
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    mounted = {volume.split(":")[1] for volume in document["services"]["worker"]["volumes"]}
    assert mounted <= set(folders)
    assert "NEURAPHAGE_DATA_DIR=/var/lib/neuraphage" in stage["ENV"]


def copied() -> list[str]:
    """What the first stage takes from the project."""
    words = [rest.split()[:-1] for name, rest in instructions() if name == "COPY" and not rest.startswith("--from")]
    return [word for found in words for word in found]


def test_the_build_sees_what_it_copies_and_no_secret() -> None:
    """.dockerignore lets through exactly that."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert lines[0] == "*"
    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(copied())
    assert not any(fnmatch.fnmatch(".env", name) for name in copied())


def test_the_image_gets_the_wheel_of_these_files_and_flower(tmp_path: Path) -> None:
    """From the copied files alone, by the Dockerfile's own command; Flower comes by the wheel's own extra."""
    for name in copied():
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path)
    run = next(rest for name, rest in instructions() if name == "RUN")
    build = next(part for part in run.split(" && ") if part.startswith("pip wheel"))
    arguments = build.replace("/dist", str(tmp_path / "dist")).split()[1:]
    offline = [sys.executable, "-m", "pip", *arguments, "--no-build-isolation", "--quiet"]
    subprocess.run(offline, cwd=tmp_path, check=True)
    (wheel,) = (tmp_path / "dist").glob("neuraphage-*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
        metadata = content.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert {"neuraphage/celery_app.py", "workers/app.py", "neuraphage/store/claim.lua"} <= names
    assert re.search(r"^Requires-Dist: flower.*extra == 'flower'", metadata, re.MULTILINE)
    assert 'pip install --no-cache-dir "${wheel}[flower,openai]"' in run


def test_the_image_is_named_after_this_version() -> None:
    """An image of another version would be taken for this one."""
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert f"NEURAPHAGE_VERSION:-{version[1]}}}" in (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
