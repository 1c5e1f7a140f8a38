"""Which provider is called where, and by which key."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage import own_secrets
from neuraphage.decide.model_ids import ModelId, Provider, check_model, split_model
from neuraphage.errors import BadInput, SettingsError
from neuraphage.llm import BedrockClient
from neuraphage.model_access import OpenAIAccess, eager_providers, model_access, require_access
from neuraphage.model_wiring import build_model
from neuraphage.settings import Settings

LOCAL = "http://127.0.0.1:8080/v1"
THEIRS = "https://api.openai.com/v1"
CLOUDS = ("AWS_REGION", "AWS_DEFAULT_REGION", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID")
NAMES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "NEURAPHAGE_OPENAI_API_KEY")


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What can be called with these variables and settings."""
    for name in (*NAMES, *CLOUDS, "NEURAPHAGE_OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(own_secrets, "_kept", {})

    def look(environ: dict[str, str], **values: Any) -> Any:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        return model_access(Settings(**values))

    return look


def shown(openai: OpenAIAccess | None) -> tuple[str, str | None] | None:
    return openai and (openai.base_url, openai.key and openai.key.get_secret_value())


@pytest.mark.parametrize(
    ("environ", "url", "expected"),
    [
        ({}, None, None),
        ({}, LOCAL, (LOCAL, None)),
        ({"NEURAPHAGE_OPENAI_API_KEY": "own"}, LOCAL, (LOCAL, "own")),
        ({"OPENAI_API_KEY": "common"}, LOCAL, (LOCAL, None)),  # it is a key of OpenAI
        ({"OPENAI_API_KEY": "common"}, None, (THEIRS, "common")),
        ({"OPENAI_API_KEY": "common", "NEURAPHAGE_OPENAI_API_KEY": "own"}, None, (THEIRS, "own")),
        ({"OPENAI_API_KEY": "common", "OPENAI_BASE_URL": LOCAL}, None, (LOCAL, "common")),
        ({"OPENAI_BASE_URL": LOCAL}, None, (LOCAL, None)),
        ({"OPENAI_BASE_URL": THEIRS, "OPENAI_API_KEY": "common"}, LOCAL, (LOCAL, None)),
        ({"OPENAI_BASE_URL": " "}, "", None),
    ],
)
def test_where_models_of_openai_are(access, environ, url, expected) -> None:
    """A key of OpenAI's own never goes to the address of the setting."""
    assert shown(access(environ, openai_base_url=url).openai) == expected


@pytest.mark.parametrize("text", ["127.0.0.1:80", "ftp://x/", "http://me:hunter22@x/v1"])
def test_what_is_no_address(access, text: str) -> None:
    """Told where it stands, without the password."""
    for given, name in (({}, "openai_base_url"), ({"OPENAI_BASE_URL": text}, "OPENAI_BASE_URL")):
        with pytest.raises(SettingsError, match=name) as caught:
            access(given, openai_base_url=None if given else text)
        assert "hunter22" not in str(caught.value)


def test_what_is_missing_is_said(access, monkeypatch) -> None:
    """Without any provider no worker starts; with one, models of the other are told what they lack."""
    nothing = access({})
    assert nothing.problem is not None
    with pytest.raises(SettingsError, match="no model can be called: set ANTHROPIC_API_KEY"):
        require_access(Settings())
    with pytest.raises(SettingsError, match="NEURAPHAGE_OPENAI_BASE_URL"):
        build_model(Settings())
    local = access({}, openai_base_url=LOCAL)
    assert (local.problem, local.problem_of("openai:x")) == (None, None)
    assert "ANTHROPIC_API_KEY" in local.problem_of("claude-sonnet-5-5")
    monkeypatch.setattr("neuraphage.model_access.find_spec", lambda _: None)
    absent = access({"ANTHROPIC_API_KEY": "k"}, openai_base_url=LOCAL)
    assert (absent.problem, absent.openai) == (None, None)
    assert "neuraphage[openai]" in absent.problem_of("openai:x")


def test_which_sdks_a_worker_imports_at_its_start(access) -> None:
    """A key of OpenAI in the environment of every shell is no reason to wait for its SDK."""

    def eager(environ: dict[str, str], **values: Any) -> tuple[Provider, ...]:
        found = access(environ, **values)
        return eager_providers(Settings(**values), found)

    assert eager({}, openai_base_url=LOCAL) == (Provider.OPENAI,)
    assert eager({"OPENAI_API_KEY": "k"}, default_model="openai:m") == (Provider.OPENAI,)
    assert eager({"ANTHROPIC_API_KEY": "k"}) == (Provider.ANTHROPIC,)
    assert eager({}, openai_base_url=LOCAL) == (Provider.ANTHROPIC, Provider.OPENAI)


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("claude-sonnet-5-5", ModelId(Provider.ANTHROPIC, "claude-sonnet-5-5")),
        ("anthropic:claude-x", ModelId(Provider.ANTHROPIC, "claude-x")),
        ("openai:llama3:8b", ModelId(Provider.OPENAI, "llama3:8b")),
        ("openai:org/name", ModelId(Provider.OPENAI, "org/name")),
        ("bedrock:eu.anthropic.claude-x-v1:0", ModelId(Provider.BEDROCK, "eu.anthropic.claude-x-v1:0")),
        ("vertex:claude-x@1", ModelId(Provider.VERTEX, "claude-x@1")),
        ("somebody.model-v1:0", ModelId(Provider.ANTHROPIC, "somebody.model-v1:0")),
        ("openai", ModelId(Provider.ANTHROPIC, "openai")),
    ],
)
def test_ids(model: str, parts: ModelId) -> None:
    """A colon belongs to the name, unless a provider stands before it."""
    assert split_model(model) == check_model(model) == parts


@pytest.mark.parametrize("model", ["openai:", "a b", "x" * 201, "a\x00", "openai:a\nb"])
def test_what_is_no_id(model: str) -> None:
    """Refused before anything is stored."""
    with pytest.raises(BadInput):
        check_model(model)


def test_the_clouds_are_where_their_own_tools_say(access, monkeypatch) -> None:
    """A region and the package that finds credentials; their SDK is imported with the first call, or by a default."""
    here = access({"AWS_DEFAULT_REGION": "eu-central-1", "CLOUD_ML_REGION": "global"})
    assert (here.bedrock_region, here.vertex_region, here.problem) == ("eu-central-1", "global", None)
    assert isinstance(build_model(Settings())._clients[Provider.BEDROCK], BedrockClient)
    assert eager_providers(Settings(), here) == ()
    assert eager_providers(Settings(default_model="bedrock:m"), here) == (Provider.BEDROCK,)
    monkeypatch.setattr("neuraphage.model_access.find_spec", lambda name: None if name == "boto3" else "there")
    assert "neuraphage[bedrock]" in access({}).problem_of("bedrock:m")
