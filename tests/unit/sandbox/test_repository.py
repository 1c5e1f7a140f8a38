"""Commands in a part of a repository, or in another working tree of it: git works, and takes no orders from them."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from test_ends import eventually

from neuraphage.sandbox.repository import repository_of
from sandboxkit import OUTPUT_CHARS, SandboxedHost

NAMED = "-c user.name=A -c user.email=a@example.com"
COMMIT = f"echo x >> made && git add made && git {NAMED} commit -qm 'by a command' && git log -1 --format=%s"


def git(where: Path, *words: str) -> str:
    """Outside of a sandbox, as the person."""
    config = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    argv = ["git", "-c", "protocol.file.allow=always", *NAMED.split(), "-C", str(where), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True, env=config).stdout


@pytest.fixture
def top(host: SandboxedHost) -> Path:
    """A repository with a folder, which is the working directory."""
    (host.work / "part").mkdir()
    (host.work / "part" / "file").write_text("as it was\n", encoding="utf-8")
    git(host.work, "init", "-q", "-b", "main")
    git(host.work, "add", "-A")
    git(host.work, "commit", "-q", "-m", "first")
    found, host.work = host.work, host.work / "part"
    return found


def orders_of(folder: Path) -> dict[str, bytes]:
    """All that a person's git obeys, below one of its folders."""
    names = ("config", "config.worktree", "commondir", "gitdir")
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (path.name in names or "hooks" in path.parts) and "put-aside" not in path.name
    }


def worktree(host: SandboxedHost, top: Path, name: str = "tree") -> Path:
    """Another working tree, which is the working directory from then on."""
    host.work = top.parent / name
    git(top, "worktree", "add", "-q", str(host.work))
    return top / ".git" / "worktrees" / name


@pytest.mark.parametrize("place", ["a folder", "a folder of a folder", "a worktree", "a folder of a worktree"])
def test_git_works_in_a_part_of_a_repository(host: SandboxedHost, top: Path, place: str) -> None:
    """Commits, branches, tags and stashes; what lies beside the working directory stays read-only."""
    if "worktree" in place:
        worktree(host, top)
    if place.startswith("a folder of"):
        host.work = host.work / "deeper"
        host.work.mkdir()
    line = f"{COMMIT}; git status --short; git switch -qc other; git tag v1; echo y >> made; git {NAMED} stash -q"
    status = host.run(f"{line}; git gc -q; git branch --show-current; echo z > ../beside")
    assert status.output.splitlines()[:2] == ["by a command", "other"]
    assert "Read-only file system" in status.output
    assert "by a command" in git(host.work, "log", "--format=%s", "v1")
    assert "other" in git(top, "branch", "--all")
    git(top, "fsck", "--strict")


def test_git_works_in_a_submodule(host: SandboxedHost, top: Path) -> None:
    """Its folder lies in that of the repository around it, and its configuration says where its files are."""
    outer = top.parent / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", str(top), "a/sub")
    host.work = outer / "a" / "sub"
    before = orders_of(outer / ".git")
    status = host.run(f"{COMMIT}; git config a.b c; echo x > {outer}/.git/x; echo x > .git; rm -f .git; ls -A")
    assert status.output.splitlines()[0] == "by a command"
    assert "by a command" in git(host.work, "log", "--format=%s")
    assert (orders_of(outer / ".git"), (outer / ".git" / "x").exists()) == (before, False)


HOSTILE = (
    "git config core.fsmonitor {evil}",
    "printf '[core]\\n\\tfsmonitor = {evil}\\n' > {git}/config.worktree",
    "echo {evil} > {git}/hooks/pre-commit",
    "mkdir -p {git}/hooks; echo x > {git}/hooks/post-checkout",
    "mv {git} {git}-was; mv {git}/hooks {git}/h; rm -rf {git}/hooks; ln -sf {evil} {git}/config",
    "echo {evil} > {git}/commondir",
    "ln -s {evil} {git}/commondir",
    "mkdir {git}/commondir",
    "for tree in {git}/worktrees/*; do echo {evil} > $tree/commondir; echo {evil} > $tree/gitdir; done",
    "for tree in {git}/worktrees/*; do mv $tree $tree-was; cp -r $tree-was $tree; echo x > $tree/commondir; done",
    "mv {git}/worktrees {git}/w; cp -r {git}/w {git}/worktrees; rm -rf {git}/worktrees/*",
    "echo 'gitdir: {evil}' > .git; mv .git was; rm -f .git; ln -sf {evil} .git",
    "git config -f {git}/modules/sub/config core.fsmonitor {evil}; echo x > {git}/modules/sub/hooks/pre-commit",
    "mv {git}/modules/sub {git}/modules/s; mkdir -p {git}/modules/sub; echo x > {git}/modules/sub/config",
    "echo {evil} > {git}/modules/sub/commondir",
)


@pytest.mark.parametrize("place", ["the top", "a folder", "a worktree"])
def test_no_command_leaves_orders_for_git(host: SandboxedHost, top: Path, place: str) -> None:
    """Neither in the repository, nor in its submodules and working trees, nor by leading git to somewhere else."""
    git(top, "config", "extensions.worktreeConfig", "true")
    git(top, "worktree", "add", "-q", str(top.parent / "beside"))
    git(top, "submodule", "--quiet", "add", "--name", "sub", str(top), "sub")
    if place == "the top":
        host.work = top
    elif place == "a worktree":
        worktree(host, top)
    evil = host.work / "evil"
    evil.mkdir()
    git(evil, "init", "-q", "--bare", ".")
    host.run("true")  # the folder of hooks and an empty configuration are made where there are none
    before = orders_of(top / ".git")
    pointer = (host.work / ".git").read_bytes() if place == "a worktree" else b""
    for line in HOSTILE:
        status = host.run(line.format(evil=evil, git=top / ".git"))
        assert orders_of(top / ".git") == before, (line, status.output)
        assert not (top / ".git" / "commondir").exists(), (line, status.output)
    if place == "the top":
        assert host.run("git status --short").exit_code == 0
    elif pointer:
        assert (host.work / ".git").read_bytes() == pointer


def test_hooks_that_are_not_there_are_not_made_either(host: SandboxedHost, top: Path) -> None:
    """Where a template of git's has none: the folder is there from then on, empty and read-only."""
    for path in (top / ".git" / "hooks").iterdir():
        path.unlink()
    (top / ".git" / "hooks").rmdir()
    host.run(f"mkdir -p {top}/.git/hooks; echo x > {top}/.git/hooks/pre-commit; {COMMIT}")
    assert list((top / ".git" / "hooks").iterdir()) == []


def test_what_leads_to_another_configuration_is_put_aside(host: SandboxedHost, top: Path) -> None:
    """No mount holds a name that is not there: the spool looks when the command has ended, and says so."""
    status = host.run(f"echo {host.work} > {top}/.git/commondir")
    assert "what git obeys was changed and put back: commondir" in status.output
    assert not (top / ".git" / "commondir").exists()
    assert "first" in git(top, "log", "--format=%s")
    assert host.run("true").output == ""


def test_also_when_the_runner_was_killed(host: SandboxedHost, top: Path) -> None:
    """The process beside it does it then."""
    command = host.start(f"echo {host.work} > {top}/.git/commondir; sleep 1000")
    eventually((top / ".git" / "commondir").exists)
    words = (host.data / "spool" / command.effect_id / "alive").read_text(encoding="utf-8").split()
    os.kill(int(words[words.index("runner") + 1]), signal.SIGKILL)
    eventually(lambda: not (top / ".git" / "commondir").exists())
    assert host.spool.look(command.effect_id, OUTPUT_CHARS).exit_code is None


# --- what is believed of a `.git` file ---------------------------------------------------------------------


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def victim(host: SandboxedHost) -> Path:
    """Somebody else's repository."""
    other = host.folder / "victim"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "theirs")
    return other / ".git"


@pytest.mark.parametrize(
    "way", ["a pointer", "a worktree of it", "a worktree of its own", "a submodule", "a link", "one with a tree"]
)
def test_a_forged_pointer_opens_nothing(host: SandboxedHost, way: str) -> None:
    """What a command can write into its working directory does not lead its next one out of it."""
    target = victim(host)
    if way == "one with a tree":
        git(target.parent, "worktree", "add", "-q", str(host.folder / "theirs"))
    name = "theirs" if way == "one with a tree" else "mine"
    forged = {
        "a pointer": f"echo 'gitdir: {target}' > .git",
        "a worktree of it": f"mkdir {target}/worktrees; echo 'gitdir: {target}/worktrees/mine' > .git",
        "a worktree of its own": (
            f"mkdir -p worktrees/mine objects refs; echo x > HEAD; echo {target} > worktrees/mine/commondir;"
            " echo $PWD/.git > worktrees/mine/gitdir; echo 'gitdir: worktrees/mine' > .git"
        ),
        "a submodule": f"echo 'gitdir: {target}' > .git; mkdir sub; echo 'gitdir: {target}/modules/sub' > sub/.git",
        "a link": f"ln -s {target} .git",
        "one with a tree": f"echo 'gitdir: {target}/worktrees/{name}' > .git",
    }
    host.run(forged[way])
    before = orders_of(target)
    status = host.run(f"echo x > {target}/new; echo x > {target}/config; {COMMIT}")
    assert "by a command" not in git(target.parent, "log", "--all", "--format=%s"), status.output
    assert (orders_of(target), (target / "new").exists()) == (before, False)


def test_a_pointer_is_followed_only_to_where_it_is_pointed_back(host: SandboxedHost, top: Path) -> None:
    """Each of the three files that name each other, changed alone."""
    own = worktree(host, top)
    work = str(host.work)
    assert str(own) not in repository_of(work, [], []).folders
    assert repository_of(work, [], []).folders == (str(top / ".git"),)
    for path, text in ((own / "gitdir", f"{top}/.git\n"), (own / "commondir", f"{host.folder}\n")):
        was = path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        assert repository_of(work, [], []).folders == ()
        assert repository_of(work, [], []).guarded == (f"{work}/.git",)
        path.write_text(was, encoding="utf-8")
    moved = own.with_name("moved")
    own.rename(moved)
    moved.symlink_to(own) if not moved.exists() else None
    assert repository_of(work, [], []).folders == ()


@pytest.mark.parametrize("place", ["a home", "above a home", "the data folder"])
def test_a_repository_of_more_than_a_project_is_not_opened(host: SandboxedHost, top: Path, place: str) -> None:
    """A home, what is around it, neuraphage's own data."""
    homes = {"a home": [str(top)], "above a home": [str(top / "home")]}.get(place, [])
    private = [str(top.parent)] if place == "the data folder" else []
    assert repository_of(str(host.work), homes, private).folders == ()
    assert repository_of(str(top), homes, []).folders == (str(top / ".git"),)


def test_a_repository_of_another_user_is_not_opened(
    host: SandboxedHost, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git itself refuses it."""
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    assert repository_of(str(host.work), [], []).folders == ()


def test_in_a_folder_of_gits_nothing_around_it_is_opened(host: SandboxedHost, top: Path) -> None:
    """And one that is the working directory keeps its own orders."""
    assert repository_of(str(top / ".git" / "hooks"), [], []).folders == ()
    host.work = top / ".git"
    before = orders_of(host.work)
    host.run("echo x >> config; echo x > hooks/pre-commit; echo x > commondir")
    assert orders_of(host.work) == before


def test_submodules_beyond_number_are_read_only(host: SandboxedHost, top: Path) -> None:
    """Each that can be changed costs a command some mounts."""
    for number in range(50):
        for name in ("objects", "refs"):
            (top / ".git" / "modules" / f"m{number}" / name).mkdir(parents=True)
        write(top / ".git" / "modules" / f"m{number}" / "HEAD", "x")
    found = repository_of(str(host.work), [], [])
    assert found.folders == (str(top / ".git"),)
    assert str(top / ".git" / "modules") in found.guarded
