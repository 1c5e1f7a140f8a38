"""What is kept of a command's way to the network, and what the command can do to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuraphage.errors import SpoolError
from neuraphage.model.sandbox import HostReach
from neuraphage.sandbox.choice import filter_in
from neuraphage.sandbox.confinement import Bubblewrap
from neuraphage.sandbox.way_folder import MOST_REFUSED, WayFolders
from neuraphage.sandbox.way_out import WayOut
from proxykit import ask
from sandboxkit import LIMITS, OUTPUT_CHARS, Calm, SandboxedHost, find_bubblewrap
from turnkit import until

EFFECT = "a" * 32


@pytest.fixture
def ways(tmp_path: Path) -> WayFolders:
    """Of a host, whose folder is not there yet."""
    return WayFolders(tmp_path / "ways")


def test_a_command_keeps_the_hosts_that_it_was_started_with(ways: WayFolders) -> None:
    """Whoever serves it later, and whatever that one may reach itself."""
    WayOut(ways, ["a.org"]).made(EFFECT)
    later = WayOut(ways, ["a.org", "127.0.0.1"])
    later.made(EFFECT)
    way = ways.of_command(EFFECT)
    assert way.hosts() == HostReach(("a.org",))
    with later.served(EFFECT):
        assert ask(way.socket, "CONNECT 127.0.0.1:1 HTTP/1.1\n\n").startswith("HTTP/1.1 403 ")


def test_a_command_without_a_way_gets_none(ways: WayFolders) -> None:
    """One that was started outside of the sandbox, or before there were hosts; one whose hosts nothing tells."""
    out = WayOut(ways, ["a.org"])
    with out.served(EFFECT):
        assert not ways.root.exists()
    out.made(EFFECT)
    (ways.of_command(EFFECT).path / "hosts").write_text("{", encoding="utf-8")
    with out.served(EFFECT):
        assert not ways.of_command(EFFECT).socket.exists()


def test_refused_hosts_are_kept_once_each_and_only_so_many(ways: WayFolders) -> None:
    """They are there for the next process; a line that was cut short counts for nothing."""
    WayOut(ways, [], asks=True).made(EFFECT)
    way = ways.of_command(EFFECT)
    for number in range(MOST_REFUSED + 5):
        for _ in range(2):
            way.note_refused(f"h{number}.org", 443)
    assert way.refused() == tuple((f"h{number}.org", 443) for number in range(MOST_REFUSED))
    (way.path / "refused").write_text("a.org 443\nb.o", encoding="ascii")
    assert ways.of_command(EFFECT).refused() == (("a.org", 443),)


def test_ways_go_when_nobody_has_used_them_for_long(ways: WayFolders) -> None:
    """One that is served counts as used."""
    out = WayOut(ways, ["a.org"])
    for effect in (EFFECT, "b" * 32):
        out.made(effect)
        os.utime(ways.of_command(effect).path, (1.0, 1.0))
    with out.served(EFFECT):
        assert ways.expire(60.0) == 1
    assert [path.name for path in ways.root.iterdir()] == [EFFECT]


def test_what_is_no_effect_id_names_no_folder(ways: WayFolders) -> None:
    """It would lead elsewhere."""
    with pytest.raises(SpoolError, match="hexadecimal"):
        ways.of_command("../" * 8)


@pytest.fixture
def open_host(host: SandboxedHost) -> SandboxedHost:
    """A host whose commands have a way out, to no host."""
    out = WayOut(WayFolders(host.data / "ways"), ["a.org"])
    # without the data folder among what is hidden: the folder of the ways hides itself
    host.sandbox = Bubblewrap(find_bubblewrap(), host.folders, LIMITS, [], filter_in(host.folders.root), out)
    return host


def test_a_command_can_change_nothing_of_its_way(open_host: SandboxedHost) -> None:
    """It sees the socket alone, and can neither take its place, nor read or change which hosts are allowed."""
    line = (
        "cd /run/neuraphage-proxy; ls -A; rm -f s; mv s t; ln s t; touch x; mkdir d; mount -o remount,rw .;"
        " cat ../hosts /run/hosts; true"
    )
    output = open_host.run(line).output
    assert output.startswith("s\n")
    assert "a.org" not in output
    assert output.count("Read-only file system") >= 5


def test_a_command_sees_no_other_ones_way(open_host: SandboxedHost) -> None:
    """Not by the place where it is outside, and it is not mounted."""
    data = open_host.data
    other = open_host.command("true", task_id="other")
    with open_host.sandbox.served(other.effect_id):
        line = (
            f"ls -A {data}/ways; cat {data}/ways/{other.effect_id}/hosts; find {data} /run -name s -type s 2>/dev/null"
        )
        output = open_host.run(line).output
    assert other.effect_id not in output.replace(f"{data}/ways/{other.effect_id}/hosts", "")
    assert "a.org" not in output
    assert output.splitlines()[-1] == "/run/neuraphage-proxy/s"


def test_the_way_is_there_again_after_the_one_before_has_ended(open_host: SandboxedHost) -> None:
    """As after a death: nobody listens for a while, and then another one does, at another socket by the same path."""
    line = (
        "ask() { curl -s -o /dev/null -w '%{http_code}\\n' http://b.org/; };"
        " until [ -e two ]; do ask > now; mv now one; sleep 0.02; done; cat one"
    )
    command = open_host.command(line)
    with open_host.sandbox.served(command.effect_id):
        open_host.start(line, command)
        _until_it_says(open_host, "403")
    _until_it_says(open_host, "502")
    with open_host.sandbox.served(command.effect_id):
        _until_it_says(open_host, "403")
        (open_host.work / "two").touch()
        assert open_host.spool.wait(command.effect_id, OUTPUT_CHARS, Calm()).output == "403\n"


def _until_it_says(host: SandboxedHost, code: str) -> None:
    file = host.work / "one"
    until(lambda: file.exists() and file.read_text(encoding="utf-8") == f"{code}\n")
