"""The profile of macOS by its text: read as the kernel would, where the last rule that fits counts. None was run."""

from __future__ import annotations

import re
from typing import Any

from neuraphage.model.sandbox import SandboxView
from neuraphage.sandbox.seatbelt import SANDBOX_EXEC, seatbelt

TMP = "/data/tmp/1"
VIEW = SandboxView(
    "/Users/u/src/p",
    guarded=("/Users/u/src/p/.git/hooks", "/Users/u/src/p/.git/config"),
    hidden=("/Users/u/.ssh", "/Users/u/.cargo", "/Users/u/.cargo/bin/private", "/data"),
    shown=("/Users/u/.cargo/bin",),
)


def parsed(text: str) -> list[Any]:
    """The rules as nested lists."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+', text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    assert len(stack) == 1, "unbalanced"
    return stack[0]


class Profile:
    """A profile, and what it says."""

    def __init__(self, argv: list[str]) -> None:
        assert argv[:2] == [SANDBOX_EXEC, "-p"]
        self.text = argv[2]
        self.rules = parsed(argv[2])
        self.command = argv[argv.index("--") + 1 :]
        pairs = argv[3 : argv.index("--")]
        assert pairs[::2] == ["-D"] * (len(pairs) // 2)
        self.parameters = dict(one.split("=", 1) for one in pairs[1::2])

    def allows(self, operation: str, path: str) -> bool:
        """Whether an operation on a path is allowed."""
        verdict = False
        for verb, *rest in self.rules:
            names = [one for one in rest if isinstance(one, str)]
            filters = [one for one in rest if isinstance(one, list)]
            fits = any(name == "default" or name == operation or self.covers(name, operation) for name in names)
            if fits and (not filters or any(self.holds(one, path) for one in filters)):
                verdict = verb == "allow"
        return verdict

    @staticmethod
    def covers(name: str, operation: str) -> bool:
        return name.endswith("*") and operation.startswith(name[:-1])

    def holds(self, rule: list[Any], path: str) -> bool:
        kind, value = rule[0], rule[1]
        named = self.parameters[value[1].strip('"')] if isinstance(value, list) else value.strip('"')
        if kind == "subpath":
            return f"{path}/".startswith(f"{named}/")
        return kind == "literal" and path == named


def profile(view: SandboxView = VIEW, **more: Any) -> Profile:
    return Profile(seatbelt(["ls", "-l"], view, TMP, **more))


def test_all_but_what_is_hidden_can_be_read() -> None:
    """What is shown below something hidden can, and what is hidden below that cannot."""
    found = profile()
    for path in ("/etc/passwd", "/Users/u", "/Users/u/src/q/b", "/Users/u/.cargo/bin/cargo", f"{TMP}/x"):
        assert found.allows("file-read-data", path), path
    hidden = (
        "/Users/u/.ssh",
        "/Users/u/.ssh/id",
        "/Users/u/.cargo/credentials",
        "/Users/u/.cargo/bin/private/k",
        "/data/x",
    )
    for path in hidden:
        assert not found.allows("file-read-data", path), path


def test_a_shown_path_can_be_resolved() -> None:
    """Its folders can be looked at on the way, though they are hidden; they cannot be listed, nor others looked at."""
    found = profile()
    assert found.allows("file-read-metadata", "/Users/u/.cargo")
    assert not found.allows("file-read-data", "/Users/u/.cargo")
    assert not found.allows("file-read-metadata", "/Users/u/.cargo/credentials")
    assert not found.allows("file-read-metadata", "/Users/u/.ssh")


def test_only_the_working_directory_and_the_temporary_folder_can_be_changed() -> None:
    """And of devices those that keep nothing."""
    found = profile()
    for path in ("/Users/u/src/p", "/Users/u/src/p/new", "/Users/u/src/p/.git/HEAD", f"{TMP}/x"):
        for operation in ("file-write-create", "file-write-data"):
            assert found.allows(operation, path), path
    for path in (
        "/Users/u/src/q/b",
        "/Users/u/.ssh/id",
        "/Users/u/.cargo/bin/cargo",
        "/etc/x",
        "/data/x",
        "/dev/disk0",
    ):
        for operation in ("file-write-create", "file-write-data", "file-write-unlink", "file-write-mode"):
            assert not found.allows(operation, path), path
    assert found.allows("file-write-data", "/dev/null")
    assert not found.allows("file-write-unlink", "/dev/null")


def test_what_is_guarded_can_be_neither_changed_nor_moved_away() -> None:
    """Nor can a folder above it, in whose place another one would come."""
    found = profile()
    for path in (*VIEW.guarded, "/Users/u/src/p/.git/hooks/new"):
        assert not found.allows("file-write-create", path)
        assert found.allows("file-read-data", path)
    for path in ("/Users/u/src/p/.git", "/Users/u/src/p", *VIEW.guarded):
        assert not found.allows("file-write-unlink", path)
    assert found.allows("file-write-unlink", "/Users/u/src/p/.git/HEAD")
    given_up = profile(keep_guarded=False)
    assert given_up.allows("file-write-create", "/Users/u/src/p/.git/hooks/new")


def test_what_is_hidden_in_the_working_directory_is_hidden() -> None:
    """To reading, writing and moving."""
    found = profile(SandboxView("/w", hidden=("/w/a/.env",)))
    for operation in ("file-read-data", "file-write-data", "file-write-unlink"):
        assert not found.allows(operation, "/w/a/.env")
    assert not found.allows("file-write-unlink", "/w/a")
    assert found.allows("file-write-data", "/w/a/other")


def test_a_working_directory_in_a_hidden_folder_is_seen() -> None:
    """What lies beside it stays hidden; what is both hidden and shown is hidden."""
    found = profile(SandboxView("/h/w", hidden=("/h", "/h/s"), shown=("/h/s",)))
    assert found.allows("file-read-data", "/h/w/x")
    assert found.allows("file-write-data", "/h/w/x")
    assert not found.allows("file-read-data", "/h/x")
    assert not found.allows("file-read-data", "/h/s/x")


def test_no_path_is_a_part_of_the_text() -> None:
    """So none can say anything, whatever is in its name."""
    evil = '/w") (allow default) (x "\\\n;=('
    found = profile(SandboxView(evil, hidden=(f"{evil}/h",)))
    assert evil not in found.text
    assert "(allow default)" not in found.text
    assert evil in found.parameters.values()
    assert found.allows("file-write-data", f"{evil}/x")
    assert not found.allows("file-read-data", f"{evil}/h")


def test_there_is_no_network_without_a_bridge() -> None:
    """Also where the proxy's socket is known, and where only a port is."""
    for found in (profile(), profile(port=99), profile(SandboxView("/w", proxy_socket="/p/s"))):
        assert "network" not in found.text
        assert "AF_UNIX" not in found.text


def test_the_bridge_has_its_port_and_the_socket_of_the_proxy() -> None:
    """And nothing else of the network."""
    found = profile(SandboxView("/w", proxy_socket="/p/s"), port=99)
    rules = [rule for rule in found.rules if any("network" in str(word) for word in rule[1:2])]
    number = next(name for name, path in found.parameters.items() if path == "/p/s")
    assert rules == parsed(
        '(allow network-bind network-inbound (local ip "localhost:99"))'
        '(allow network-outbound (remote ip "localhost:99"))'
        f'(allow network-outbound (remote unix-socket (path-literal (param "{number}"))))'
    )


def test_what_is_not_named_is_refused() -> None:
    """The first rule says so; the command stands behind the profile as it is."""
    found = profile()
    assert found.rules[:2] == [["version", "1"], ["deny", "default"]]
    assert found.command == ["ls", "-l"]
    assert not found.allows("mach-register", "/x")
    assert not found.allows("appleevent-send", "/x")
