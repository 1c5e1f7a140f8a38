"""The repository that a working directory belongs to: what git needs to change of it, and what may never change.

git is told what to run, and where its orders lie, by files of its folders. So a command may change the folders of git
that its working directory belongs to, but none of these files. A `.git` file in the working directory is itself within
a command's reach: where it leads is believed only if what lies there leads back, and belongs to this user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

ORDERS = ("config", "config.worktree", "hooks", "commondir")
"""Of a folder of git's: what a person's git runs or is led by. `commondir` leads to another configuration."""
_OF_WORKTREE = ("config.worktree", "commondir", "gitdir")
_SHORT_BYTES, _CONFIG_BYTES = 4096, 1_000_000
_MOST_MODULES = 40
"""Above it, all folders of submodules are read-only: each that is not costs mounts."""


@dataclass(frozen=True, slots=True)
class Repository:
    """What of git's folders a command may change. All paths are absolute.

    Args:
        folders: git's own, which it may change; also those in the working directory.
        guarded: in them, or in the working directory: not to be changed.
        kept: what no mount can hold, since it is not there or is a link: put back when the command has ended.
    """

    folders: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def repository_of(working_dir: str, homes: Iterable[str], private: Iterable[str]) -> Repository:
    """Look for the repository of a working directory, as git does: upwards.

    Args:
        working_dir: absolute and resolved.
        homes: a repository of a whole home, or of more than that, is not opened to commands in a folder of it.
        private: nor is one in these places.
    """
    if _is_git_folder(working_dir):
        return _guards([working_dir])  # a bare one, or what is in a .git
    homes, private = tuple(homes), tuple(private)
    for top in (working_dir, *map(str, PurePosixPath(working_dir).parents)):
        entry = f"{top}/.git" if top != "/" else "/.git"
        is_own = top == working_dir
        try:
            mode = os.lstat(entry).st_mode
        except OSError:
            if _is_git_folder(top):
                break  # git takes a bare one
            continue
        found = _led_to(entry, mode, top)
        if is_own and found is None:
            return _unconfirmed(entry, mode)
        if found is None:
            break
        common, own = found
        pointer = [entry] if is_own and stat.S_ISREG(mode) else []
        if _lies_in(common, working_dir) or _may_be_opened(top, entry, found, homes, private):
            return _guards([common], own, pointer)
        return Repository(guarded=tuple(pointer))
    return Repository()


def _may_be_opened(
    top: str, entry: str, found: tuple[str, str | None], homes: tuple[str, ...], private: tuple[str, ...]
) -> bool:
    """Whether a repository outside of the working directory is one of a project of this user's."""
    common, own = found
    is_wide = top == "/" or any(_lies_in(home, top) for home in homes)
    is_private = any(_lies_in(common, one) for one in private)
    return not is_wide and not is_private and all(_is_mine(path) for path in (top, entry, common, own or common))


def make_orders(kept: Iterable[str]) -> bool:
    """Make the folder of hooks where there is none, so that a mount can hold it. git makes an empty one, too.

    Likewise the configuration of one working tree, where a repository is told to read it.

    Args:
        kept: of a repository.

    Returns:
        Whether something was made; the repository is to be looked at again then.
    """
    is_made = False
    for path in kept:
        folder, _, name = path.rpartition("/")
        try:
            if name == "hooks":
                os.mkdir(path, 0o755)  # noqa: PTH102 - as in view.py
                is_made = True
            elif name == "config.worktree" and b"worktreeconfig" in _read(_config_of(folder), _CONFIG_BYTES).lower():
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644))
                is_made = True
        except OSError:
            continue  # it is a link; or it can be made by nobody of this user
    return is_made


def all_kept(guarded: Iterable[str], kept: Iterable[str]) -> tuple[str, ...]:
    """What is to be put back after a command that nothing but this keeps from changing it.

    Args:
        guarded: of a repository; of the folders of other worktrees their orders are meant.
        kept: of a repository.
    """
    found = list(kept)
    for path in guarded:
        if os.path.dirname(path).endswith("/worktrees"):  # noqa: PTH120 - texts, not paths
            found += [f"{path}/{name}" for name in _OF_WORKTREE]
        else:
            found.append(path)
    return tuple(dict.fromkeys(found))


def _config_of(folder: str) -> str:
    """The configuration that counts in a folder of git's, which may be that of a worktree."""
    above, _, kind = os.path.dirname(folder).rpartition("/")  # noqa: PTH120 - texts, not paths
    return f"{above}/config" if kind == "worktrees" else f"{folder}/config"


def _led_to(entry: str, mode: int, top: str) -> tuple[str, str | None] | None:
    """The folder with the orders, and the one of the worktree, that git finds by this entry; None if that is unsure."""
    if stat.S_ISDIR(mode):
        return (entry, None) if _is_git_folder(entry) else None
    if not stat.S_ISREG(mode):
        return None
    words = _read(entry, _SHORT_BYTES)
    if not words.startswith(b"gitdir: "):
        return None
    own = os.path.realpath(os.path.join(top, os.fsdecode(words.removeprefix(b"gitdir: ").rstrip(b"\r\n"))))  # noqa: PTH118 - texts, not paths
    shared = _read(f"{own}/commondir", _SHORT_BYTES)
    if not shared:
        return (own, None) if _is_git_folder(own) and _work_tree(own) == top else None
    common, kind = os.path.dirname(os.path.dirname(own)), os.path.basename(os.path.dirname(own))  # noqa: PTH119, PTH120 - texts, not paths
    led = os.path.realpath(os.path.join(own, os.fsdecode(shared.rstrip(b"\r\n"))))  # noqa: PTH118 - texts, not paths
    back = os.fsdecode(_read(f"{own}/gitdir", _SHORT_BYTES).rstrip(b"\r\n"))
    if kind != "worktrees" or led != common or not _is_git_folder(common):
        return None
    return (common, own) if os.path.realpath(os.path.join(own, back)) == entry else None  # noqa: PTH118 - texts, not paths


def _work_tree(folder: str) -> str | None:
    """Where the configuration of a submodule says that its files lie; None where it does not say so plainly."""
    found, section = None, ""
    for line in os.fsdecode(_read(f"{folder}/config", _CONFIG_BYTES)).splitlines():
        words = line.strip()
        if words.startswith("["):
            section = words
        name, _, value = (part.strip() for part in words.partition("="))
        if section == "[core]" and name.lower() == "worktree":
            found = value
    if not found or any(sign in found for sign in '"\\#;'):
        return None
    return os.path.realpath(os.path.join(folder, found))  # noqa: PTH118 - texts, not paths


def _unconfirmed(entry: str, mode: int) -> Repository:
    """What leads somewhere else without being led back, or is no whole repository: it may not be changed, at least."""
    if stat.S_ISDIR(mode):
        return _guards([entry])
    return Repository(guarded=(entry,)) if stat.S_ISREG(mode) else Repository(kept=(entry,))


def _guards(folders: list[str], own: str | None = None, guarded: Iterable[str] = ()) -> Repository:
    """All that gives orders in folders of git's, and in those of their submodules and worktrees."""
    modules = [one for folder in folders for one in _modules_in(f"{folder}/modules")]
    if len(modules) > _MOST_MODULES:
        guarded, modules = [*guarded, *(f"{folder}/modules" for folder in folders)], []
    places = [f"{folder}/{name}" for folder in (*folders, *modules) for name in ORDERS]
    for folder in (*folders, *modules):
        others = [f"{folder}/worktrees/{name}" for name in _names(f"{folder}/worktrees")]
        places += [path for path in others if path != own]
    if own is not None:
        places += [f"{own}/{name}" for name in _OF_WORKTREE]
    held = [path for path in places if os.path.exists(path) and not os.path.islink(path)]  # noqa: PTH110, PTH114 - texts, not paths
    # a folder of hooks that is not there is made, a configuration is there: what remains is put back
    kept = [path for path in places if path not in held]
    return Repository((*folders, *modules), (*guarded, *held), tuple(kept))


def _modules_in(folder: str) -> Iterator[str]:
    """Folders of submodules; their names may have slashes."""
    for name in _names(folder):
        path = f"{folder}/{name}"
        if _is_git_folder(path):
            yield path
            yield from _modules_in(f"{path}/modules")
        elif not os.path.islink(path):  # noqa: PTH114 - texts, not paths
            yield from _modules_in(path)


def _names(folder: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _is_git_folder(path: str) -> bool:
    """As git asks."""
    return all(os.path.exists(f"{path}/{name}") for name in ("objects", "refs")) and os.path.lexists(f"{path}/HEAD")  # noqa: PTH110 - texts, not paths


def _is_mine(path: str) -> bool:
    try:
        return os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return False


def _lies_in(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _read(path: str, limit_bytes: int) -> bytes:
    """A small file; nothing of one that is not there, is a link, no file, or larger."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        found = os.fstat(file)
        return os.read(file, limit_bytes) if stat.S_ISREG(found.st_mode) and found.st_size <= limit_bytes else b""
    except OSError:
        return b""
    finally:
        os.close(file)
