"""Rules of Landlock made from what a command is to see, judged as the kernel does: by a path and all that is above."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from neuraphage.model.sandbox import SandboxView
from neuraphage.sandbox.landlock import (
    DEVICES,
    READ_DIR,
    READ_FILE,
    WRITE,
    WRITE_FILE,
    Folders,
    closed_folders,
    handled,
    landlocked,
    rules,
)

TMP = "/data/tmp/1"


class Tree(Folders):
    """A file system that is a list of files; whatever is above one is a folder."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = {*files, *DEVICES, "/proc/1/stat", f"{TMP}/x"}
        self.folders = {above for file in self.files for above in self.above(file)}

    @staticmethod
    def above(path: str) -> list[str]:
        parts = path.split("/")
        return ["/".join(parts[:count]) or "/" for count in range(1, len(parts))]

    def names(self, path: str) -> list[str]:
        start = path.rstrip("/") + "/"
        return sorted({one[len(start) :].split("/")[0] for one in self.files if one.startswith(start)})

    def is_folder(self, path: str) -> bool:
        return path in self.folders


def allowed(found: dict[str, int], path: str) -> int:
    """All that rules allow of a path."""
    access = 0
    for one in (path, *Tree.above(path)):
        access |= found.get(one, 0)
    return access


HOME = Tree(
    [
        "/etc/passwd", "/home/u/.ssh/id", "/home/u/.netrc", "/home/u/.cargo/bin/cargo", "/home/u/.cargo/credentials",
        "/home/u/src/p/a.py", "/home/u/src/p/.git/config", "/home/u/src/p/.git/hooks/x", "/home/u/src/p/.git/HEAD",
        "/home/u/src/p/.git/objects/1", "/home/u/src/q/b.py", "/home/v/x", "/dev/sda", "/dev/pts/0", "/data/redis/dump",
    ]
)  # fmt: skip
VIEW = SandboxView(
    "/home/u/src/p",
    guarded=("/home/u/src/p/.git/hooks", "/home/u/src/p/.git/config"),
    hidden=("/home/u/.ssh", "/home/u/.netrc", "/home/u/.cargo", "/data"),
    shown=("/home/u/.cargo/bin",),
)


def test_all_but_what_is_hidden_can_be_read() -> None:
    """What is shown below something hidden can, too; of devices only those without anything in them."""
    found = rules(VIEW, TMP, HOME)
    readable = {file for file in HOME.files if allowed(found, file) & READ_FILE}
    hidden = {
        "/home/u/.ssh/id",
        "/home/u/.netrc",
        "/home/u/.cargo/credentials",
        "/data/redis/dump",
        "/dev/sda",
        "/dev/pts/0",
    }
    assert readable == HOME.files - hidden


def test_the_way_to_a_hidden_folder_cannot_be_listed() -> None:
    """A right to list a folder holds for all below, so names in the hidden one would be seen."""
    found = rules(VIEW, TMP, HOME)
    listed = {folder for folder in HOME.folders if allowed(found, folder) & READ_DIR}
    assert not listed & {"/", "/home", "/home/u", "/home/u/.ssh", "/home/u/.cargo", "/data"}
    assert {"/etc", "/home/v", "/home/u/src", "/home/u/src/p/.git", "/home/u/.cargo/bin", "/dev", TMP} <= listed


def test_the_way_to_a_hidden_file_can_be_listed() -> None:
    """Nothing of it is seen but its name, which is no secret."""
    found = rules(SandboxView("/home/u/src/p", hidden=("/home/u/.netrc",)), TMP, HOME)
    assert all(allowed(found, folder) & READ_DIR for folder in HOME.folders)
    assert not allowed(found, "/home/u/.netrc") & READ_FILE


def test_only_the_working_directory_can_be_changed_and_not_what_is_guarded() -> None:
    """Its other entries can; so can the folder for temporary files and the devices that swallow all."""
    found = rules(VIEW, TMP, HOME)
    writable = {file for file in HOME.files if allowed(found, file) & WRITE_FILE}
    inside = {file for file in HOME.files if file.startswith("/home/u/src/p/")}
    guarded = {"/home/u/src/p/.git/config", "/home/u/src/p/.git/hooks/x"}
    assert writable == (inside - guarded) | {f"{TMP}/x", *DEVICES}


def test_nothing_is_made_in_the_folders_on_the_way_to_what_is_guarded() -> None:
    """A hook that is not there yet must not be made. The folders are named, for who has to choose."""
    found = rules(VIEW, TMP, HOME)
    closed = closed_folders(VIEW)
    assert closed == ("/home/u/src/p", "/home/u/src/p/.git")
    assert {folder for folder in closed if allowed(found, folder) & WRITE} == set()
    assert allowed(found, "/home/u/src/p/.git/objects") & WRITE == WRITE
    assert allowed(found, "/home/u/src/p/.git/hooks/new") & WRITE == 0


def test_guarded_files_can_be_given_up() -> None:
    """Then the whole working directory can be changed, and what is hidden still cannot."""
    found = rules(VIEW, TMP, HOME, keep_guarded=False)
    assert allowed(found, "/home/u/src/p") & WRITE == WRITE
    assert closed_folders(VIEW, keep_guarded=False) == ()
    assert "--guarded" not in landlocked(["x"], VIEW, TMP, keep_guarded=False)
    assert "--guarded" in landlocked(["x"], VIEW, TMP)


def test_what_is_hidden_in_the_working_directory_is_hidden() -> None:
    """It can be neither read nor changed, and the folders on the way are closed."""
    view = SandboxView("/home/u/src/p", hidden=("/home/u/src/p/.git",))
    found = rules(view, TMP, HOME)
    assert allowed(found, "/home/u/src/p/.git/HEAD") & (WRITE | READ_FILE | READ_DIR) == 0
    assert allowed(found, "/home/u/src/p/a.py") & (WRITE_FILE | READ_FILE) == WRITE_FILE | READ_FILE
    assert closed_folders(view) == ("/home/u/src/p",)


def test_a_working_directory_in_a_hidden_folder_is_seen() -> None:
    """As the lead to it is none of its business; what lies beside it stays hidden."""
    found = rules(SandboxView("/home/u/src/p", hidden=("/home",)), TMP, HOME)
    assert allowed(found, "/home/u/src/p/a.py") & (WRITE_FILE | READ_FILE) == WRITE_FILE | READ_FILE
    assert allowed(found, "/home/u/src/q/b.py") == 0


def test_what_is_both_hidden_and_shown_is_hidden() -> None:
    """Default deny."""
    view = SandboxView("/home/u/src/p", hidden=("/home/u/.ssh",), shown=("/home/u/.ssh",))
    assert allowed(rules(view, TMP, HOME), "/home/u/.ssh/id") == 0


def test_what_the_kernel_can_refuse() -> None:
    """Each version more; never a right that it does not know."""
    assert [handled(abi)[1:] for abi in (3, 4, 5, 6, 7)] == [(0, 0), (3, 0), (3, 0), (3, 3), (3, 3)]
    assert [handled(abi)[0].bit_length() for abi in (3, 4, 5, 7)] == [15, 15, 16, 16]


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))


@given(st.lists(PATHS, min_size=1, max_size=12), PATHS, st.lists(PATHS, max_size=4), st.lists(PATHS, max_size=4))
def test_no_tree_opens_what_is_closed(
    files: list[str], working_dir: str, hidden: list[str], shown_or_guarded: list[str]
) -> None:
    """Whatever lies where: a hidden path has no right to be read or changed unless something nearer shows it, and
    nothing outside the working directory can be changed."""
    tree = Tree(f"{file}/f" for file in files)
    guarded = [path for path in shown_or_guarded if path.startswith(f"{working_dir}/")]
    view = SandboxView(working_dir, tuple(guarded), tuple(hidden), tuple(shown_or_guarded))
    closed = [*guarded, *(one for one in hidden if f"{one}/".startswith(f"{working_dir}/"))]
    found = rules(view, TMP, tree)
    for path in tree.files | tree.folders:
        access = allowed(found, path)
        nearest = [
            one for one in (path, *reversed(Tree.above(path))) if one in {*hidden, *shown_or_guarded, working_dir}
        ]
        is_hidden = bool(nearest) and nearest[0] in hidden
        if is_hidden:
            assert access & (READ_FILE | WRITE) == 0, path
        if any(f"{path}/".startswith(f"{one}/") for one in closed):
            assert access & WRITE == 0, path
        inside = path == working_dir or path.startswith((f"{working_dir}/", TMP, "/dev/"))
        assert inside or access & WRITE == 0, path
        if not nearest and path in tree.files and not path.startswith(("/dev/", "/data/")):
            assert access & READ_FILE, path
