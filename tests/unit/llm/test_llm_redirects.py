"""Redirects of the model's API: the key and the conversation go where a person has said, and nowhere else."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient

KEY = "a-key-of-tests-0123456789"


class Place:
    """An HTTP server that answers every request with one status and place, and keeps what it was sent."""

    def __init__(self, status, location):
        self.seen = []
        place = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                place.seen.append((self.path, headers, body))
                self.send_response(status)
                self.send_header("location", location(place) if callable(location) else location)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def place():
    """Makes servers, and ends them."""
    made = []

    def make(status, location):
        made.append(Place(status, location))
        return made[-1]

    yield make
    for one in made:
        one.close()


def refused(url, request, interrupt):
    with pytest.raises(ModelFault) as caught:
        AnthropicClient(url, KEY, read_timeout_s=20).call(request, lambda _: None, interrupt)
    assert KEY not in caught.value.detail
    return caught.value


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_port_or_host_gets_nothing(place, interrupt, make_request, status):
    """Neither key nor conversation; the message names where it led, and what to do if that is right."""
    elsewhere = place(500, "/")
    for there in (elsewhere.url, f"http://localhost:{elsewhere.port}"):
        fault = refused(place(status, f"{there}/v1/messages?k=1").url, make_request(), interrupt)
        assert fault.kind is FaultKind.BAD_REQUEST
        assert f"a redirect to {there}, which is not followed" in fault.detail
        assert "NEURAPHAGE_ANTHROPIC_BASE_URL" in fault.detail
    assert elsewhere.seen == []


@pytest.mark.parametrize(
    "location",
    [
        "https://127.0.0.1:{port}/",
        "https://127.0.0.1/",
        "//localhost:{port}/v1",
        "http://user:pw@127.0.0.1:{port}/v1",
        "ftp://127.0.0.1:{port}/",
        "http://127.0.0.1.evil.example:{port}/",
        "http://[::1]:{port}/",
        "http://127.0.0.1:99999999/",
        "\\\\evil.example\\v1",
        "javascript:alert(1)",
    ],
)
def test_what_only_looks_like_the_same_place_is_refused(place, interrupt, make_request, location):
    """Another scheme, another name of this machine, a login in the address, and what is no address at all."""
    here = place(307, lambda place: location.format(port=place.port))
    fault = refused(here.url, make_request(), interrupt)
    if location.startswith("\\"):  # as a path it stays at this host
        assert {request[0] for request in here.seen}
        return
    assert fault.kind is FaultKind.BAD_REQUEST
    assert len(here.seen) == 1


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_drop_the_request_is_refused(place, interrupt, make_request, status):
    """Followed, it would ask for a page with GET, and the answer would mean nothing."""
    here = place(status, "/elsewhere")
    fault = refused(here.url, make_request(), interrupt)
    assert fault.kind is FaultKind.BAD_REQUEST
    assert len(here.seen) == 1


def test_a_redirect_in_a_circle_ends(place, interrupt, make_request):
    """After a few rounds."""
    here = place(308, "/v1/messages")
    assert refused(here.url, make_request(), interrupt).kind is FaultKind.GARBAGE
    assert len(here.seen) <= 5


def test_a_body_is_sent_on_within_the_place(place, interrupt, make_request):
    """A gateway that adds a slash, say: the whole request, with its key, by 307."""
    here = place(307, "/v1/other")
    refused(here.url, make_request("the prompt"), interrupt)
    path, headers, body = here.seen[1]
    assert path == "/v1/other"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert b"the prompt" in body
