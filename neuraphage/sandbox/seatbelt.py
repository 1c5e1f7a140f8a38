"""The sandbox of macOS: the profile that sandbox-exec is given, made from what a command is to see. Pure.

Unproven: only the text of the profile is tested, and no command has been run under it. It follows the profiles of
OpenAI's Codex (seatbelt_base_policy.sbpl) and Anthropic's sandbox-runtime (macos-sandbox-utils.ts), which are in use.

What is not named is refused. Of rules that fit, the last one counts. Paths are parameters of the profile, and never a
part of its text, so no name of a file can change what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuraphage.model.sandbox import SandboxView

SANDBOX_EXEC = "/usr/bin/sandbox-exec"
"""By its path: another program of that name would not restrict anything."""
_BASE = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem ipc-posix-shm)
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow pseudo-tty)
(allow file-read*)
(allow file-ioctl (subpath "/dev"))
(allow file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom")
  (literal "/dev/dtracehelper") (literal "/dev/ptmx") (subpath "/dev/fd"))"""


class _Profile:
    """Rules, and the paths that they speak of as parameters."""

    def __init__(self) -> None:
        self.rules = [_BASE]
        self.paths: list[str] = []

    def say(self, verb: str, operations: str, kind: str, path: str) -> None:
        """Add a rule about a path; kind is `subpath`, with all that is below, `literal`, or `path-literal`."""
        if path not in self.paths:
            self.paths.append(path)
        named = f'({kind} (param "PATH_{self.paths.index(path)}"))'
        self.rules.append(f"({verb} {operations} {named})")


def seatbelt(
    argv: Sequence[str], view: SandboxView, tmp_dir: str, *, port: int | None = None, keep_guarded: bool = True
) -> list[str]:
    """A command under the profile.

    Args:
        argv: of the command; with a network, with the bridge before it.
        view: of the command.
        tmp_dir: an existing folder for its temporary files, absolute and resolved; name it by TMPDIR.
        port: where the bridge listens. The loopback is that of the machine, so each command needs a free one.
        keep_guarded: as of landlock.landlocked; here new files can be made in either way.
    """
    profile = _Profile()
    _reads(profile, view, tmp_dir)
    _writes(profile, view, tmp_dir, (*view.guarded, *view.kept) if keep_guarded else ())
    _network(profile, view, port)
    parameters = [word for number, path in enumerate(profile.paths) for word in ("-D", f"PATH_{number}={path}")]
    return [SANDBOX_EXEC, "-p", "\n".join(profile.rules), *parameters, "--", *argv]


def _reads(profile: _Profile, view: SandboxView, tmp_dir: str) -> None:
    """The nearer one of a hidden and a shown folder counts; of one that is both, hidden."""
    shown = {*view.shown, view.working_dir, *view.writable, tmp_dir}
    for path in sorted({*view.hidden, *shown}, key=_depth):
        if path in shown:
            profile.say("allow", "file-read*", "subpath", path)
        if path in view.hidden:
            profile.say("deny", "file-read*", "subpath", path)
    # a program that resolves a shown path looks at each folder on the way to it
    for path in _on_the_way(shown, view.hidden):
        profile.say("allow", "file-read-metadata", "literal", path)


def _writes(profile: _Profile, view: SandboxView, tmp_dir: str, guarded: Iterable[str]) -> None:
    for path in (view.working_dir, *view.writable, tmp_dir):
        profile.say("allow", "file-write*", "subpath", path)
    closed, open_ones = {*view.hidden, *guarded}, (view.working_dir, *view.writable)
    inside = sorted((path for path in closed if any(_is_at_or_below(path, one) for one in open_ones)), key=_depth)
    for path in inside:
        profile.say("deny", "file-write*", "subpath", path)
    # a folder above could be moved away, and another one put in its place
    for path in sorted(
        {above for one in inside for above in _above(one) if any(_is_at_or_below(above, way) for way in open_ones)}
    ):
        profile.say("deny", "file-write-unlink", "literal", path)


def _network(profile: _Profile, view: SandboxView, port: int | None) -> None:
    """None, or what the bridge needs and what leads to it."""
    if view.proxy_socket is None or port is None:
        return
    profile.rules += [
        "(allow system-socket (socket-domain AF_UNIX))",
        f'(allow network-bind network-inbound (local ip "localhost:{port}"))',
        f'(allow network-outbound (remote ip "localhost:{port}"))',
    ]
    if view.proxy_socket not in profile.paths:
        profile.paths.append(view.proxy_socket)
    number = profile.paths.index(view.proxy_socket)
    profile.rules.append(f'(allow network-outbound (remote unix-socket (path-literal (param "PATH_{number}"))))')


def _on_the_way(shown: Iterable[str], hidden: Iterable[str]) -> list[str]:
    """Hidden folders above something that is shown."""
    ways = {above for path in shown for above in _above(path)}
    return sorted(path for path in ways if any(_is_at_or_below(path, one) for one in hidden))


def _depth(path: str) -> tuple[int, str]:
    return path.rstrip("/").count("/"), path


def _is_at_or_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(2, len(parts))]
