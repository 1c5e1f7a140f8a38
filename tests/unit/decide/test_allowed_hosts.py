"""Which hosts an entry allows, in every way that a host can be written, and which addresses are inside."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.decide.allowed_hosts import (
    inner_kind,
    is_allowed,
    is_denied,
    read_allowed_host,
    read_authority,
    read_denied_host,
    read_host,
)
from neuraphage.errors import BadInput


def allows(entry: str, host: str, port: int = 443) -> bool:
    """Whether an entry allows a host as a request writes it."""
    read = read_host(host)
    return read is not None and is_allowed([read_allowed_host(entry)], read, port)


def test_a_host_is_that_host_at_the_ports_of_the_web() -> None:
    """In any case and with the root's dot; not what is above, below or beside it."""
    assert all(allows("PyPI.org", name, port) for name in ("pypi.org", "PYPI.ORG", "pypi.org.") for port in (80, 443))
    assert not allows("pypi.org", "pypi.org", 8080)
    for other in ("files.pypi.org", "org", "xpypi.org", "pypi.org.evil.com", "pypi-org", "pypi.orgs"):
        assert not allows("pypi.org", other)


def test_a_star_is_everything_below() -> None:
    """At any depth, and not the host itself or one whose name only ends so."""
    assert allows("*.pythonhosted.org", "files.pythonhosted.org")
    assert allows("*.pythonhosted.org", "a.b.pythonhosted.org")
    for other in ("pythonhosted.org", "evilpythonhosted.org", "pythonhosted.org.evil.com"):
        assert not allows("*.pythonhosted.org", other)


def test_a_port_is_that_port_alone() -> None:
    """An entry with a port does not open the usual ones."""
    assert allows("git.example.org:8443", "git.example.org", 8443)
    assert not allows("git.example.org:8443", "git.example.org", 443)
    assert allows("*.example.org:22", "git.example.org", 22)


def test_addresses_have_one_form() -> None:
    """However an address of version 6 is written, it is the same."""
    assert allows("10.0.0.5:80", "10.0.0.5", 80)
    assert allows("[FD00:0::5]:8080", "[fd00::0005]", 8080)
    assert allows("[::1]", "::1", 443)
    assert not allows("10.0.0.5", "10.0.0.50", 443)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "*", "*.", "*.com", "**.example.org", "*.10.0.0.1", "a.*.org", "https://pypi.org", "pypi.org/simple",
        "pypi.org:0", "pypi.org:65536", "pypi.org:", "pypi.org:http", "user@pypi.org", "pypi..org", "-a.org", "a b.org",
        "::1", "[::1", "[pypi.org]", "127.1", "0x7f000001", "2130706433", "1.2.3.256", "010.0.0.1", "fe80::1%eth0",
        "[fe80::1%eth0]", "münchen.de", "a.org\n", "a.org\r\nx", "a" * 64 + ".org", "a." * 130 + "org", "*.*.org",
    ],
)  # fmt: skip
def test_what_is_no_entry_is_refused(text: str) -> None:
    """Among them what resolvers read as an address, and what would allow the hosts of many owners."""
    with pytest.raises(BadInput, match="write a host"):
        read_allowed_host(text)


def test_a_host_that_only_looks_like_one_is_none() -> None:
    """Short and other-based forms of addresses, and names that end in a number: libc takes them for addresses."""
    for text in (
        "127.1",
        "0x7f.1",
        "017700000001",
        "127.0.0.1.",
        "1",
        "a.0x1",
        "a.1",
        "a.0x",
        "fe80::1%lo",
        "a%2e.org",
    ):
        assert read_host(text) is None, text


@given(st.text(max_size=40))
def test_what_is_read_is_read_the_same_again(text: str) -> None:
    """A host has one form, of plain letters."""
    host = read_host(text)
    if host is not None:
        assert host.isascii()
        assert read_host(host) == host
        assert not set(host) & set("/@ \r\n%[]*")


def test_what_is_denied_has_every_port() -> None:
    """Unless it names one; and whole countries may be."""
    assert is_denied([read_denied_host("evil.org")], "evil.org", 22)
    assert not is_denied([read_denied_host("evil.org:22")], "evil.org", 443)
    assert is_denied([read_denied_host("*.ru")], "a.b.ru", 443)
    assert is_denied([read_denied_host("10.0.0.5")], "::ffff:a00:5", 443), "the same, wrapped into version 6"
    assert not is_denied([read_denied_host("10.0.0.5")], "10.0.0.6", 443)


def test_authorities() -> None:
    """Host and port of a URL; an address of version 6 in brackets only."""
    assert read_authority("a.org", 80) == ("a.org", 80)
    assert read_authority("A.org.:81", 80) == ("a.org", 81)
    assert read_authority("[::1]:81", 80) == ("::1", 81)
    for text in (
        "::1",
        "::1:80",
        "a.org:",
        "a.org:x",
        "a.org:-1",
        "u@a.org",
        "u:p@a.org",
        "[a.org]",
        "a.org:80:80",
        "",
    ):
        assert read_authority(text, 80) is None, text


INNER = [
    "127.0.0.1", "127.255.0.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.0.1",
    "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "239.1.1.1",
    "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1",
]  # fmt: skip


@pytest.mark.parametrize("address", INNER)
def test_addresses_that_are_inside(address: str) -> None:
    """Of this machine, its networks and its cloud, also in the forms in which version 6 carries version 4."""
    assert inner_kind(ipaddress.ip_address(address)) is not None


@pytest.mark.parametrize(
    "address", ["151.101.0.223", "8.8.8.8", "2a04:4e42::223", "64:ff9b::9765:df", "::ffff:8.8.8.8"]
)
def test_addresses_of_the_public_internet(address: str) -> None:
    """Also through the translation of networks that have version 6 alone."""
    assert inner_kind(ipaddress.ip_address(address)) is None
