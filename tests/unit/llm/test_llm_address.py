"""Where calls go: the setting, else the variable, else the provider; and what is no address."""

import pytest

from neuraphage.decide.model_url import PROVIDER_URL, model_url
from neuraphage.errors import BadInput, SettingsError
from neuraphage.llm import AnthropicClient
from neuraphage.testing.scripted_api import ScriptedServer

KEY = "sk-ant-test-key-0123456789"


@pytest.mark.parametrize(
    ("setting", "variable", "url"),
    [
        (None, None, PROVIDER_URL),
        ("", " ", PROVIDER_URL),
        (None, "http://one", "http://one"),
        (" ", "http://one", "http://one"),
        ("https://[::1]:8/v", "http://one", "https://[::1]:8/v"),
        ("HTTP://user:pw@two:80", None, "HTTP://user:pw@two:80"),
    ],
)
def test_the_nearest_address_that_is_given_wins(setting, variable, url):
    """An empty one, which is how stack files hand on a variable that is not set, is none."""
    assert model_url(setting, {} if variable is None else {"ANTHROPIC_BASE_URL": variable}) == url


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "127.0.0.1:80",
        "ftp://x/",
        "http://",
        "http://:80",
        "http://x:99999",
        "http://[::1",
        "https:// x",
        "http://x:y@z:pw",
    ],
)
def test_what_is_no_address_is_told_where_it_stands(text):
    """Before any call: one that fails for it would end its task for good."""
    with pytest.raises(SettingsError, match="anthropic_base_url is no address"):
        model_url(text, {})
    with pytest.raises(SettingsError, match="ANTHROPIC_BASE_URL is no address"):
        model_url(None, {"ANTHROPIC_BASE_URL": text})
    with pytest.raises(BadInput):
        AnthropicClient(text, KEY)


@pytest.mark.parametrize("text", ["ftp://user:hunter22@x", "http://user:hunter22@x:port"])
def test_a_password_in_an_address_is_not_told(text):
    """The error names the place, not the value."""
    with pytest.raises(SettingsError) as caught:
        model_url(text, {})
    assert "hunter22" not in str(caught.value)


def test_an_empty_variable_does_not_end_calls(interrupt, make_request, monkeypatch):
    """The SDK would take it for an address."""
    with ScriptedServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "")
        monkeypatch.setattr("neuraphage.decide.model_url.PROVIDER_URL", server.url)
        reply = AnthropicClient(None, KEY).call(make_request(), lambda _: None, interrupt)
    assert reply.stop_reason == "end_turn"
