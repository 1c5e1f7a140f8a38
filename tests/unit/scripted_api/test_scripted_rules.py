"""The API's own rules: what it refuses, with which status, in which shape."""

import copy

import httpx2
import pytest

from neuraphage.testing.scripted_api import ScriptedServer, accepting
from neuraphage.testing.scripted_api.script import sign

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
TOOL = {"name": "bash", "input_schema": {"type": "object"}}


def _use(tool_use_id, **more):
    return {"type": "tool_use", "id": tool_use_id, "name": "bash", "input": {}, **more}


def _result(tool_use_id, **more):
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": "ok", **more}


def _text(text, **more):
    return {"type": "text", "text": text, **more}


MARK = {"cache_control": {"type": "ephemeral"}}


def _body(*turns, **more):
    """A body whose messages alternate, user first."""
    messages = [{"role": ("user", "assistant")[index % 2], "content": turn} for index, turn in enumerate(turns)]
    return {"model": "m", "max_tokens": 9, "messages": messages or [{"role": "user", "content": "hi"}], **more}


GOOD = {
    "plain": _body(),
    "every field": _body(
        system=[_text("s", **MARK)],
        tools=[{**TOOL, "description": "d", "type": "custom"}],
        tool_choice={"type": "auto"},
        metadata={"user_id": "u"},
        stop_sequences=["x"],
        temperature=1,
        top_k=1,
        top_p=0.5,
        thinking={"type": "adaptive"},
        service_tier="auto",
        stream=False,
    ),
    "tool round": _body("hi", [_text("t"), _use("a"), _use("b")], [_result("b"), _result("a"), _text("and")]),
    "result without content": _body("hi", [_use("a")], [{"type": "tool_result", "tool_use_id": "a"}]),
    "what the provider's tools left": _body(
        "hi",
        [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]},
        ],
    ),
    "result of blocks": _body("hi", [_use("a")], [_result("a", content=[_text("x")])]),
    "results over two messages of one role": {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [_use("a"), _use("b")]},
            {"role": "user", "content": [_result("a")]},
            {"role": "user", "content": [_result("b")]},
        ],
    },
    "thinking that comes back": _body(
        "hi", [{"type": "thinking", "thinking": "t", "signature": sign("t")}, _text("x")], "go"
    ),
    "assistant prefill": _body("hi", "The answer is"),
    "four breakpoints": _body([_text(str(i), **MARK) for i in range(4)]),
}

BAD = {
    "no model": ({**_body(), "model": None}, "model:"),
    "missing max_tokens": ({k: v for k, v in _body().items() if k != "max_tokens"}, "max_tokens: Field required"),
    "missing messages": ({"model": "m", "max_tokens": 9}, "messages: Field required"),
    "max_tokens 0": (_body(max_tokens=0), "max_tokens: Input should be greater than or equal to 1"),
    "max_tokens as text": (_body(max_tokens="9"), "max_tokens:"),
    "unknown field": (_body(colour="red"), "colour: Extra inputs are not permitted"),
    "invalid_inputs sent back": (_body("hi", [_use("a", _invalid_json="{")], [_result("a")]), "Extra inputs"),
    "no message": ({**_body(), "messages": []}, "at least one message is required"),
    "assistant first": ({**_body(), "messages": [{"role": "assistant", "content": "x"}]}, 'must use the "user" role'),
    "unknown role": ({**_body(), "messages": [{"role": "system", "content": "x"}]}, "messages.0.role:"),
    "unknown message field": ({**_body(), "messages": [{"role": "user", "content": "x", "id": 1}]}, "messages.0.id:"),
    "empty content": (_body("", "x", "y"), "messages.0: all messages must have non-empty content"),
    "empty blocks": (_body("hi", [], "y"), "messages.1: all messages must have non-empty content"),
    "empty text": (_body([_text("")]), "text content blocks must"),
    "blank text": (_body([_text(" \n")]), "text content blocks must"),
    "unknown block": (_body([{"type": "hologram"}]), "messages.0.content.0"),
    "thinking in a user message": (
        _body([{"type": "thinking", "thinking": "t", "signature": sign("t")}]),
        "not allowed in `user` messages",
    ),
    "tool_result in an assistant message": (_body("hi", [_result("a")], "x"), "not allowed in `assistant` messages"),
    "use without result": (_body("hi", [_use("a")], "no"), "`tool_use` ids were found without `tool_result`"),
    "use at the end": (_body("hi", [_use("a")]), "`tool_use` ids were found without `tool_result`"),
    "one result of two": (_body("hi", [_use("a"), _use("b")], [_result("a")]), "immediately after: b"),
    "result too late": (_body("hi", [_use("a")], "x", "y", [_result("a")]), "immediately after: a"),
    "orphan result": (_body([_result("zz")]), "unexpected `tool_use_id`"),
    "result of an older call": (
        _body("hi", [_use("a")], [_result("a")], "x", [_result("a")]),
        "unexpected `tool_use_id`",
    ),
    "two results of one call": (_body("hi", [_use("a")], [_result("a"), _result("a")]), "single result"),
    "error without a word": (_body("hi", [_use("a")], [_result("a", content="", is_error=True)]), "cannot be empty if"),
    "server tool of a user": (_body([{"type": "server_tool_use", "id": "s"}]), "not allowed in `user` messages"),
    "text before results": (_body("hi", [_use("a")], [_text("x"), _result("a")]), "must come first"),
    "call id twice": (_body("hi", [_use("a"), _use("a")], [_result("a")]), "ids must be unique"),
    "call id again later": (
        _body("hi", [_use("a")], [_result("a")], [_use("a")], [_result("a")]),
        "ids must be unique",
    ),
    "changed thinking": (
        _body("hi", [{"type": "thinking", "thinking": "T", "signature": sign("t")}, _text("x")], "y"),
        "Invalid `signature` in `thinking` block",
    ),
    "mark on thinking": (
        _body("hi", [{"type": "thinking", "thinking": "t", "signature": sign("t"), **MARK}], "y"),
        "cache_control: Extra inputs are not permitted",
    ),
    "mark on empty text": (_body([_text("", **MARK)]), "cannot be set for empty text"),
    "five breakpoints": (_body([_text(str(i), **MARK) for i in range(5)]), "A maximum of 4 blocks"),
    "tool name": (_body(tools=[{**TOOL, "name": "no spaces"}]), "tools.0.name"),
    "tool without schema": (_body(tools=[{"name": "x"}]), "tools.0.input_schema: Field required"),
    "schema of no object": (
        _body(tools=[{"name": "x", "input_schema": {"type": "string"}}]),
        "tools.0.input_schema.type",
    ),
    "tool name twice": (_body(tools=[TOOL, TOOL]), "Tool names must be unique"),
    "choice without tools": (_body(tool_choice={"type": "any"}), "tool_choice may only be specified"),
    "choice of an unknown tool": (_body(tools=[TOOL], tool_choice={"type": "tool", "name": "x"}), "not found in"),
    "trailing blank in a prefill": (_body("hi", "The answer is "), "cannot end with trailing whitespace"),
    "temperature": (_body(temperature=2), "temperature:"),
    "unknown script": (_body("[script:nobody]"), "asks for script 'nobody'"),
    "a list": ([], "body:"),
}


@pytest.fixture(scope="module")
def url():
    with ScriptedServer() as server:
        yield server.url


def _post(url, body, headers=None, path="/v1/messages"):
    return httpx2.post(f"{url}{path}", json=body, headers=HEADERS if headers is None else headers)


@pytest.mark.parametrize("name", GOOD)
def test_good_bodies_are_answered(url, name):
    """Bodies that the API takes are taken."""
    answer = _post(url, GOOD[name])
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("name", BAD)
def test_bad_bodies_are_refused(url, name):
    """Each broken rule is a 400 in the API's error shape and says which rule."""
    body, words = BAD[name]
    answer = _post(url, copy.deepcopy(body))
    assert answer.status_code == 400
    told = answer.json()
    assert (told["type"], told["error"]["type"]) == ("error", "invalid_request_error")
    assert words in told["error"]["message"]
    assert told["request_id"] == answer.headers["request-id"]


HALF = b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "\\ud83c"}]}'
NAN = b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "metadata": {"x": NaN}}'


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[" * 100_000, HALF, NAN, "{}".encode("utf-16")])
def test_what_is_no_json_is_refused(url, raw):
    """A body that cannot be parsed is a 400."""
    answer = httpx2.post(f"{url}/v1/messages", content=raw, headers=HEADERS)
    assert answer.status_code == 400
    assert "not valid JSON" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_headers_are_demanded(url, path):
    """No key: 401; no version: 400; a bearer token is a key too."""
    body = _body() if path == "/v1/messages" else {"model": "m", "messages": _body()["messages"]}
    assert _post(url, body, {"anthropic-version": "x"}, path).status_code == 401
    missing_version = _post(url, body, {"x-api-key": "k"}, path)
    assert missing_version.status_code == 400
    assert "anthropic-version" in missing_version.json()["error"]["message"]
    assert _post(url, body, {"authorization": "Bearer k", "anthropic-version": "x"}, path).status_code == 200


def test_only_accepted_keys_are_let_in():
    """A server that was given keys refuses others with the API's type."""
    with ScriptedServer(accepted_keys=["right"]) as server:
        wrong = _post(server.url, _body())
        right = _post(server.url, _body(), {**HEADERS, "x-api-key": "right"})
    assert (wrong.status_code, wrong.json()["error"]["type"]) == (401, "authentication_error")
    assert right.status_code == 200


def test_count_tokens_takes_no_max_tokens(url):
    """The endpoint has a body of its own."""
    answer = _post(url, _body(), path="/v1/messages/count_tokens")
    assert answer.status_code == 400
    assert "max_tokens: Extra inputs" in answer.json()["error"]["message"]


def test_a_body_over_the_limit_is_413(url, monkeypatch):
    """A request over the size limit is read to its end and refused with request_too_large."""
    monkeypatch.setattr(accepting, "MAX_BODY_BYTES", 10_000)
    answer = _post(url, _body("x" * 200_000))
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "request_too_large")
    assert _post(url, _body("x" * 5_000)).status_code == 200


def test_the_limit_is_the_api_limit():
    """32 MB."""
    assert accepting.MAX_BODY_BYTES == 32 * 1024 * 1024


def test_unknown_endpoints_are_404(url):
    """In the API's shape."""
    answer = httpx2.get(f"{url}/v1/models")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")
