"""Server URLs: the forms that people write, and what Celery and redis-py are told."""

from __future__ import annotations

import pytest
from kombu import Connection

from neuraphage.decide.server_url import SentinelUrl, broker_address, broker_servers, is_sentinel, parse_sentinel
from neuraphage.errors import SettingsError

HOSTS = (("h1", 26_379), ("h2", 7))


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("sentinel://h1,h2:7/1?service_name=m", SentinelUrl(HOSTS, "m", 1)),
        ("sentinel://h1;sentinel://h2:7/1?master_name=m", SentinelUrl(HOSTS, "m", 1)),
        ("sentinel://h1?service_name=m;sentinel://h2:7", SentinelUrl(HOSTS, "m")),
        ("sentinel://u:p%40%3A@h1,h2:7?service_name=m&db=3", SentinelUrl(HOSTS, "m", 3, "u", "p@:")),
        ("sentinel://:p@h1;sentinel://:p@h2:7/0?service_name=m", SentinelUrl(HOSTS, "m", 0, None, "p")),
        ("sentinel://[::1]:5/0?service_name=m", SentinelUrl((("::1", 5),), "m")),
        (
            "sentinel://h1,h2:7/0?service_name=m&sentinel_username=su&sentinel_password=sp",
            SentinelUrl(HOSTS, "m", sentinel_username="su", sentinel_password="sp"),
        ),
        (
            "sentinel://h1,h2:7/0?service_name=m&ssl_ca_certs=/ca",
            SentinelUrl(HOSTS, "m", tls=True, tls_options={"ssl_ca_certs": "/ca"}),
        ),
        ("sentinel://h1,h2:7/0?service_name=m&ssl=true", SentinelUrl(HOSTS, "m", tls=True)),
    ],
)
def test_sentinel_urls(url: str, found: SentinelUrl) -> None:
    """Hosts by comma, or whole URLs by semicolon as Celery's users write them."""
    assert is_sentinel(url)
    assert parse_sentinel(url) == found


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sentinel://h1/0", "service_name"),
        ("sentinel://h1:x/0?service_name=m", "'h1:x'"),
        ("sentinel://:p4ss@h1:99999/0?service_name=m", "'h1:99999'"),
        ("sentinel:///0?service_name=m", "host:port"),
        ("sentinel://h1/one?service_name=m", "'one'"),
        ("sentinel://h1/0?service_name=m&servise=x", "servise"),
        ("sentinel://:p4ss@[h1/0?service_name=m", r"'\[h1'"),
    ],
)
def test_sentinel_urls_that_cannot_be_read(url: str, words: str) -> None:
    """What is wrong is named, and no password."""
    with pytest.raises(SettingsError, match=words) as caught:
        parse_sentinel(url)
    assert "p4ss" not in str(caught.value)


def test_the_broker_gets_celerys_own_form() -> None:
    """Each Sentinel as a URL of its own, quoted; what a URL cannot say goes beside it."""
    found = broker_address("sentinel://u:p%2F@h1,[::1]:7/2?service_name=m&sentinel_password=sp&ssl_ca_certs=/ca")
    assert found.url == "sentinel://u:p%2F@h1:26379/2;sentinel://u:p%2F@[::1]:7/2"
    assert found.transport_options["master_name"] == "m"
    assert found.tls == {"ssl_cert_reqs": "required", "ssl_ca_certs": "/ca"}
    sentinel = found.transport_options["sentinel_kwargs"]
    assert isinstance(sentinel, dict)
    assert (sentinel["password"], sentinel["ssl"], sentinel["ssl_ca_certs"]) == ("sp", True, "/ca")
    assert "p%2F" not in repr(found)
    with Connection(found.url) as read:
        assert (read.userid, read.password, read.virtual_host) == ("u", "p/", "2")


def test_a_socket_of_this_machine_for_the_broker() -> None:
    """The state server's form of it does for the broker too; other URLs are left as they are."""
    assert broker_address("unix://:p@/run/s?db=3").url == "redis+socket://:p@/run/s?virtual_host=3"
    for url in ("redis://u:p@h:1/0", "rediss://h:1/0?ssl_ca_certs=/ca", "redis+socket:///run/s?virtual_host=0"):
        assert broker_address(url).url == url


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("redis://u:p@h:1/0", ["redis://u:p@h:1/0"]),
        ("unix://:p@/run/s?db=3", ["unix://:p@/run/s?db=3"]),
        ("redis+socket:///run/s", ["unix:///run/s?db=0"]),
        ("redis+socket://u:p%40@/run/s?virtual_host=3", ["unix://u:p%40@/run/s?db=3"]),
        ("redis://h1/0;rediss://h2/0;", ["redis://h1/0", "rediss://h2/0"]),
        ("rediss://h/0?ssl_cert_reqs=CERT_NONE&x=1", ["rediss://h/0?ssl_cert_reqs=none&x=1"]),
        ("rediss://h/0?a=b&ssl_cert_reqs=required", ["rediss://h/0?a=b&ssl_cert_reqs=required"]),
        ("sentinel://h1;sentinel://h2:7/0?master_name=m", ["sentinel://h1;sentinel://h2:7/0?master_name=m"]),
    ],
)
def test_what_a_publisher_connects_to(url: str, servers: list[str]) -> None:
    """kombu's words become redis-py's; several servers stay in their order."""
    assert list(broker_servers(url)) == servers
