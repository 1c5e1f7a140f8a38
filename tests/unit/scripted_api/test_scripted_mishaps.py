"""What a person does wrong with the scripted API is told, and harms no later request."""

import socket
import subprocess
import sys

import httpx2
import pytest

from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, reply
from patience import PATIENCE_S

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
BAD_SCRIPTS = {
    "says nothing": lambda _: None,
    "no block": lambda _: reply(blocks=[{"no": "type"}]),
    "half a character": lambda _: reply("\ud800"),
    "no JSON": lambda _: reply(tools=[("act", {"x": object()})]),
    "no blocks": lambda _: ScriptedReply(blocks=None, stop_reason="end_turn"),
}


def _ask(client, server, prompt="hi", **more):
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": prompt}], **more}
    return client.post(f"{server.url}/v1/messages", json=body)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", BAD_SCRIPTS)
def test_a_script_that_answers_what_cannot_be_sent_is_a_500(name, stream):
    """It is told before the first byte, counted, and the connection serves the next request."""
    with ScriptedServer({"bad": BAD_SCRIPTS[name]}) as server, httpx2.Client(headers=HEADERS) as client:
        answer = _ask(client, server, stream=stream)
        assert answer.status_code == 500
        assert "script 'bad' failed" in answer.json()["error"]["message"]
        assert _ask(client, server, "[script:echo]").status_code == 200
        assert [entry["outcome"] for entry in server.log()["entries"]] == ["refused:500", "completed"]


def test_a_header_that_cannot_be_sent_is_refused_with_its_order(server):
    """A retry-after of two lines would have cut every connection it was due on."""
    for text in ("1\r\nx: y", "€"):
        answer = httpx2.post(f"{server.url}/_control/faults", json={"kind": "429", "retry_after": text})
        assert answer.status_code == 400
    assert httpx2.post(f"{server.url}/_control/faults", json={"kind": "429", "retry_after": "1"}).status_code == 200


def test_a_server_that_starts_again_goes_on_writing_its_log(tmp_path):
    """Both runs are in the file."""
    server = ScriptedServer(log_file=tmp_path / "log")
    for _ in range(2):
        with server, httpx2.Client(headers=HEADERS) as client:
            assert _ask(client, server).status_code == 200
    assert len((tmp_path / "log").read_text(encoding="utf-8").splitlines()) == 4


def test_a_path_with_a_slash_too_many_is_no_endpoint(server):
    """As with the API: a client must not be led to where it did not go."""
    answer = httpx2.post(f"{server.url}/v1/messages/", headers=HEADERS, json={})
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")


def test_tools_of_the_provider_are_streamed_and_taken_back(server, sdk):
    """A paused reply with a search in it arrives whole, and goes back as it came."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x y z"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}

    def script(request):
        return reply("Done.") if request.turn else reply(blocks=[search, found], stop_reason="pause_turn")

    with ScriptedServer({"main": script}) as other, sdk.with_options(base_url=other.url) as client:
        asked = {"model": "m", "max_tokens": 9}
        messages = [{"role": "user", "content": "hi"}]
        with client.messages.stream(**asked, messages=messages) as stream:
            first = stream.get_final_message()
        assert (first.stop_reason, first.content[0].input) == ("pause_turn", {"query": "x y z"})
        blocks = [block.model_dump(exclude_none=True) for block in first.content]
        second = client.messages.create(**asked, messages=[*messages, {"role": "assistant", "content": blocks}])
        assert second.content[0].text == "Done."


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "{used}"],
        ["--port", "99999"],
        ["--port", "-1"],
        ["--host", "no.such.host.invalid"],
        ["--port-file", "/nonexistent/port"],
        ["--log-file", "/nonexistent/log"],
    ],
)
def test_a_server_that_cannot_start_says_why(arguments):
    """In one line, with exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as used:
        filled = [argument.format(used=used.getsockname()[1]) for argument in arguments]
        command = [sys.executable, "-m", "neuraphage.testing.scripted_api", *filled]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("scripted_api: cannot start: ")
    assert len(done.stderr.splitlines()) == 1
