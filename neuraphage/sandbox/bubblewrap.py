"""A command under bubblewrap: a root of its own, and namespaces of users, processes, networks and messages.

Only the command line changes: whoever starts and ends it needs to know nothing of it. The end of bubblewrap's first
process is the end of all that the command has started, wherever it has gone (user_namespaces(7), pid_namespaces(7)).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from neuraphage.model.sandbox import SandboxView
from neuraphage.sandbox.view import TEMPORARY
from neuraphage.sandbox.way_folder import SOCKET

_NAMESPACES = (
    "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--die-with-parent",
    "--hostname", "sandbox",
)  # fmt: skip
_SOCKET = "socket:"
_OUTER = f"""\
trap "" TERM
[ -z "$1" ] || exec 9<"$1"
ours=$2 line=exec number=0
shift 2
for word do
  number=$((number + 1))
  [ $number -gt $ours ] && word=
  case $word in
    {_SOCKET}*) [ ! -S "${{word#{_SOCKET}}}" ] || line="$line --ro-bind /dev/null \\"\\${{$number#{_SOCKET}}}\\"" ;;
    *) line="$line \\"\\${{$number}}\\"" ;;
  esac
done
eval "$line"
"""
"""Becomes bubblewrap, which is not to die of the signal that asks the command to end: the command would be killed with
it. Sockets that are gone by now are left out: they come and go, and one that is not there cannot be mounted over.

Fixed text: it is given the file of the filter or nothing, how many words are bubblewrap's, and the words.
"""
_FILTER_FILE = "9"
_DEFAULT_SIGNALS = ("/usr/bin/env", "--default-signal=TERM", "--")
PROXY_FOLDER = "/run/neuraphage-proxy"
"""Where the folder of the proxy's socket is inside. Nothing else is in it, and it cannot be written there: whoever
listens at the socket's place outside is reached, and nobody inside can take that place."""
PROXY_SOCKET = f"{PROXY_FOLDER}/{SOCKET}"


def under_bubblewrap(
    argv: Sequence[str],
    view: SandboxView,
    *,
    program: str,
    temporary: str,
    filter_path: str | None = None,
) -> tuple[str, ...]:
    """The command line that runs another one in a sandbox.

    Args:
        argv: program and arguments.
        view: what it sees.
        program: path of bubblewrap.
        temporary: an existing folder with what it gets as /tmp and /var/tmp: `tmp` and `var-tmp`.
        filter_path: file of a compiled seccomp filter.
    """
    filtered = () if filter_path is None else ("--seccomp", _FILTER_FILE)
    start = ("--chdir", view.working_dir, "--", *_DEFAULT_SIGNALS, *argv)
    ours = (program, *_NAMESPACES, *filtered, *_mounts(view, temporary))
    return ("/bin/sh", "-c", _OUTER, "neuraphage", filter_path or "", str(len(ours)), *ours, *start)


def _mounts(view: SandboxView, temporary: str) -> Iterator[str]:
    """The root, and what lies over it: of two places the deeper one is mounted later, and so decides."""
    root = "--bind" if view.working_dir == "/" else "--ro-bind"
    yield from (root, "/", "/", "--dev", "/dev", "--proc", "/proc")
    places: dict[str, tuple[str, ...]] = {}
    sealed = []
    for path in view.hidden:
        if path in view.sockets:
            places[path] = (f"{_SOCKET}{path}",)
        elif os.path.isdir(path):  # noqa: PTH112 - as in view.py
            places[path] = ("--tmpfs", path)
            sealed.append(path)
        else:
            places[path] = ("--ro-bind", "/dev/null", path)
    for path, own in zip(TEMPORARY, ("tmp", "var-tmp"), strict=False):
        real = os.path.realpath(path)
        places[real] = ("--bind", f"{temporary}/{own}", real)
    for path in view.shown:
        places[path] = ("--ro-bind-try", path, path)
    for path in _ways(view):
        places[path] = ("--bind", path, path)
    for path in view.guarded:
        places[path] = ("--ro-bind", path, path)
    if view.proxy_socket is not None:
        places[PROXY_FOLDER] = ("--ro-bind", str(PurePosixPath(view.proxy_socket).parent), PROXY_FOLDER)
    places.pop("/", None)  # mounted first
    for path in sorted(places, key=_depth):
        yield from places[path]
    for path in sealed:  # after all that lies in them was mounted: what a command writes there must not seem to be kept
        yield from ("--remount-ro", path)


def _ways(view: SandboxView) -> list[str]:
    """The working directory and what else is writable, and what lies between these and what is guarded.

    Each is a mount of its own, since a directory that is one cannot be moved away with what is guarded in it.
    """
    found = [view.working_dir, *view.writable]
    roots = [PurePosixPath(path) for path in found]
    for path in view.guarded:
        above = PurePosixPath(path).parents
        found += [str(parent) for parent in above if any(root in parent.parents for root in roots)]
    return list(dict.fromkeys(found))


def _depth(path: str) -> int:
    return len(PurePosixPath(path).parts)
