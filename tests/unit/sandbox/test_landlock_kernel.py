"""Landlock in the kernel: real programs under the rules, and what is refused them."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from bwrapkit import python, started
from neuraphage.model.sandbox import SandboxView
from neuraphage.sandbox import kernel_limits
from neuraphage.sandbox.landlock import LEAST_ABI, Folders, landlocked
from patience import PATIENCE_S
from proxykit import listening

ABI = kernel_limits.landlock_abi()
pytestmark = pytest.mark.skipif(ABI < LEAST_ABI, reason=f"the kernel has no Landlock of version {LEAST_ABI}")
SECRET = "the secret"


class Place:
    """Folders of a test: what the command may change, what it may not see, what it may only read."""

    def __init__(self, root: Path) -> None:
        self.work, self.hidden, self.other, self.tmp = (root / name for name in ("work", "hidden", "other", "tmp"))
        for folder in (self.work, self.hidden, self.other, self.tmp):
            folder.mkdir()
            (folder / "file").write_text(SECRET, encoding="utf-8")
        self.view = SandboxView(str(self.work), hidden=(str(self.hidden),))

    def run(
        self, *argv: str, view: SandboxView | None = None, keep_guarded: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the working directory."""
        return subprocess.run(
            landlocked(argv, view or self.view, str(self.tmp), keep_guarded=keep_guarded),
            cwd=self.work,
            env=os.environ | {"TMPDIR": str(self.tmp)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def shell(self, script: str, **more: object) -> tuple[int, str, str]:
        done = self.run("sh", "-c", script, **more)  # type: ignore[arg-type]
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Fresh folders."""
    return Place(tmp_path.resolve())


def test_the_working_directory_and_the_temporary_folder_can_be_changed(place: Place) -> None:
    """Made, written, moved between folders, linked, removed."""
    script = """
    set -e
    mkdir a b && echo 1 >a/x && mv a/x b/y && ln b/y z && ln -s z link && cat link && rm -r a && echo 2 >>file
    t=$(mktemp) && echo 3 >"$t" && cat "$t"
    """
    assert place.shell(script) == (0, "1\n3\n", "")


@pytest.mark.parametrize(
    "change",
    [
        "echo x >{other}/new", "echo x >{other}/file", "rm {other}/file", "mv {other}/file .", "mkdir {other}/d",
        "ln -s x {other}/l", "mv file {other}/f", "ln {other}/file f", "truncate -s 0 {other}/file",
        "echo 0 >/proc/self/oom_score_adj", "echo x >/dev/shm/neuraphage-test",
    ],
)  # fmt: skip
def test_nothing_outside_can_be_changed(place: Place, change: str) -> None:
    """Neither made nor written, emptied, moved, linked or removed."""
    code, _, _ = place.shell(change.format(other=place.other))
    assert code != 0
    assert (place.other / "file").read_text(encoding="utf-8") == SECRET
    assert [path.name for path in place.other.iterdir()] == ["file"]


def test_what_is_hidden_can_be_neither_read_nor_changed(place: Place) -> None:
    """Directly, through a link, by a list of its names; what is beside it can be read."""
    (place.other / "link").symlink_to(place.hidden)
    (place.work / "link").symlink_to(place.hidden / "file")
    for script in ("cat {hidden}/file", "ls {hidden}", "cat {other}/link/file", "cat link", "echo x >{hidden}/file"):
        code, out, err = place.shell(script.format(hidden=place.hidden, other=place.other))
        assert (code != 0, out, "denied" in err) == (True, "", True), script
    assert place.shell(f"cat {place.other}/file") == (0, SECRET, "")
    assert (place.hidden / "file").read_text(encoding="utf-8") == SECRET


def test_a_link_is_no_way_to_what_is_hidden(place: Place) -> None:
    """One that lies beside it: a rule for the link would be one for what it leads to."""
    beside = place.hidden.parent / "beside"
    beside.symlink_to(place.hidden)
    assert "beside" not in Folders().names(str(beside.parent))
    assert place.shell(f"cat {beside}/file")[0] != 0


ALLOW_ONE = """
import sys
sys.path.insert(0, sys.argv[1])
import kernel_limits, landlock
kernel_limits.forbid_new_privileges()
kernel_limits.restrict({sys.argv[2]: landlock.READ}, landlock.handled(kernel_limits.landlock_abi()), landlock.OF_FILES)
print(open(sys.argv[2] + "/file").read())
"""


def test_a_rule_for_a_link_allows_nothing(place: Place) -> None:
    """What was no link when the rules were made may be one by now. A rule for a folder allows what is in it."""
    link = place.other / "link"
    link.symlink_to(place.hidden)
    folder = str(Path(kernel_limits.__file__).parent)
    outcomes = [
        subprocess.run([*python(ALLOW_ONE), folder, path], capture_output=True, timeout=PATIENCE_S, check=False).stdout
        for path in (place.hidden, link)
    ]
    assert outcomes == [f"{SECRET}\n".encode(), b""]


def test_what_is_shown_below_something_hidden_can_be_read(place: Place) -> None:
    """And nothing else of it."""
    (place.hidden / "bin").mkdir()
    (place.hidden / "bin" / "tool").write_text("seen", encoding="utf-8")
    view = SandboxView(str(place.work), hidden=(str(place.hidden),), shown=(str(place.hidden / "bin"),))
    assert place.shell(f"cat {place.hidden}/bin/tool", view=view) == (0, "seen", "")
    assert place.shell(f"cat {place.hidden}/file", view=view)[0] != 0
    assert place.shell(f"echo x >{place.hidden}/bin/tool", view=view)[0] != 0


def guarding(place: Place) -> SandboxView:
    """A working directory with a repository."""
    subprocess.run(["git", "init", "-q", place.work], check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
    hooks, config = place.work / ".git" / "hooks", place.work / ".git" / "config"
    return SandboxView(str(place.work), guarded=(str(hooks), str(config)), hidden=(str(place.hidden),))


def test_what_is_guarded_cannot_be_changed(place: Place) -> None:
    """Nor replaced; the working directory's other files can be written, and nothing made beside them."""
    view = guarding(place)
    for script in (
        "echo x >.git/hooks/new",
        "echo x >>.git/config",
        "mv .git old",
        "mv .git/hooks h",
        "rm .git/config",
    ):
        assert place.shell(script, view=view)[0] != 0, script
    assert place.shell("echo x >file && echo x >.git/objects/new && cat .git/config >/dev/null", view=view)[0] == 0
    assert place.shell("echo x >new", view=view)[0] != 0
    assert not (place.work / ".git" / "hooks" / "new").exists()


def test_guarded_files_can_be_given_up(place: Place) -> None:
    """So that new files can be made, by choice of the caller."""
    code, _, err = place.shell("echo x >new && echo x >.git/hooks/new", view=guarding(place), keep_guarded=False)
    assert (code, err) == (0, "")


def test_there_is_no_network(place: Place) -> None:
    """No socket of any family, also to a server of this machine; pairs are made, as programs talk to their children."""
    with listening() as (_, port):
        done = place.run(*python(f"import socket; socket.create_connection(('127.0.0.1', {port}))"))
    assert "Operation not permitted" in done.stderr
    for family in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"):
        assert place.run(*python(f"import socket; socket.socket(socket.{family}, socket.SOCK_DGRAM)")).returncode != 0
    assert place.run(*python("import socket; socket.socketpair()")).returncode == 0


def test_the_environment_and_the_memory_of_others_cannot_be_read(place: Place) -> None:
    """Those of the process that runs the tests, of the same user, as a worker's with its key would be."""
    for name in ("fd/0", "cwd", "exe"):
        assert place.run("readlink", f"/proc/{os.getpid()}/{name}").returncode != 0, name
    for name in ("environ", "mem", "maps", "fd/0", "root/etc/passwd"):
        done = place.run("cat", f"/proc/{os.getpid()}/{name}")
        assert (done.returncode != 0, done.stdout) == (True, ""), name
    assert place.shell("cat /proc/self/environ >/dev/null")[0] == 0


@pytest.mark.skipif(ABI < 6, reason="the kernel's Landlock does not restrict signals before version 6")
def test_others_get_no_signals(place: Place) -> None:
    """The command's own children do."""
    with started(["sleep", "1000"]) as other:
        assert place.shell(f"kill -TERM {other.pid}")[0] != 0
        assert other.poll() is None
    assert place.shell("sleep 1000 & kill -TERM $!; wait $!")[0] == 128 + signal.SIGTERM


def test_no_right_of_root_is_left_and_none_comes_back(place: Place) -> None:
    """Whoever runs it; neither a program with set-user-id nor one of root gives any."""
    code, out, _ = place.shell("grep -E 'Cap(Eff|Prm)|NoNewPrivs|Seccomp:' /proc/self/status")
    assert code == 0
    assert out.split() == ["CapPrm:", "0" * 16, "CapEff:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2"]
    assert place.shell("mknod device b 8 0")[0] != 0


WORK = """
import concurrent.futures, subprocess, sys, tempfile, threading
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    assert list(pool.map(abs, [-1])) == [1]
with tempfile.TemporaryFile() as file:
    file.write(b"x")
open("/dev/null", "w").close()
assert open("/dev/urandom", "rb").read(1)
done = subprocess.run(["sh", "-c", "echo out; echo err >/dev/stderr"], capture_output=True, text=True)
assert (done.stdout, done.stderr) == ("out\\n", "err\\n"), done
"""


def test_usual_programs_work(place: Place) -> None:
    """Python with threads, programs and temporary files; a repository from nothing to a commit."""
    done = place.run(*python(WORK))
    assert (done.returncode, done.stderr) == (0, "")
    script = "set -e; git init -q r; cd r; echo a >a; git add a; git -c user.name=a -c user.email=a@a commit -qm one"
    code, _, err = place.shell(f"export GIT_CONFIG_GLOBAL=/dev/null; {script}")
    assert (code, err) == (0, "")


def test_the_status_is_the_commands_own(place: Place) -> None:
    """Codes, signals, and what keeps a command from running, told as a shell does."""
    assert place.shell("exit 7")[0] == 7
    assert place.shell("kill -KILL $$")[0] == -signal.SIGKILL
    assert place.run("/nowhere/program").returncode == 127
    assert place.run(str(place.work / "file")).returncode == 126


@pytest.mark.parametrize("wrong", [[], ["--tmp"], ["--working-dir", "x"], ["--other", "/x"]])
def test_what_it_does_not_understand_it_does_not_run(place: Place, wrong: list[str]) -> None:
    """A restriction that got lost must not go unnoticed."""
    argv = landlocked(["true"], place.view, str(place.tmp))
    at = argv.index("--")
    broken = [*argv[:4], *wrong, *argv[4:at], "--", *argv[at + 1 :]] if wrong else argv[:at]
    done = subprocess.run(broken, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, "neuraphage: cannot understand its arguments" in done.stderr) == (126, True)


OLDER = """
import runpy, sys
abi, sys.argv[:] = int(sys.argv[1]), sys.argv[2:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
import kernel_limits
kernel_limits.landlock_abi = lambda: abi
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def on_older_kernel(place: Place, abi: int) -> subprocess.CompletedProcess[str]:
    """Run a command that reads and writes, restricted by what a version of Landlock can."""
    argv = landlocked(["sh", "-c", f"echo x >new && cat {place.hidden}/file"], place.view, str(place.tmp))
    return subprocess.run(
        [*argv[:3], "-c", OLDER, str(abi), *argv[3:]],
        cwd=place.work,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("abi", [0, LEAST_ABI - 1])
def test_what_a_kernel_cannot_restrict_is_not_run(place: Place, abi: int) -> None:
    """It says so."""
    done = on_older_kernel(place, abi)
    assert done.returncode == 126
    assert f"cannot restrict the command: this kernel has Landlock in version {abi}" in done.stderr
    assert not (place.work / "new").exists()


@pytest.mark.parametrize("abi", range(LEAST_ABI, 7))
def test_older_kernels_restrict_files_as_newer_ones_do(place: Place, abi: int) -> None:
    """Each is asked for no more than it knows."""
    if abi > ABI:
        pytest.skip("the kernel here is older")
    done = on_older_kernel(place, abi)
    assert (done.returncode, done.stdout) == (1, "")
    assert "denied" in done.stderr
    assert (place.work / "new").exists()
