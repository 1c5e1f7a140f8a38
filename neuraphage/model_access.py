"""Which providers of models this process can call, from its settings and its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from pydantic import SecretStr

from neuraphage import own_secrets
from neuraphage.decide.model_ids import Provider, split_model
from neuraphage.decide.model_url import openai_url
from neuraphage.errors import SettingsError
from neuraphage.settings import Settings

ANTHROPIC_KEY = "ANTHROPIC_API_KEY"
OPENAI_KEY = "OPENAI_API_KEY"
OWN_OPENAI_KEY = "NEURAPHAGE_OPENAI_API_KEY"
OWN_OPENAI_URL = "NEURAPHAGE_OPENAI_BASE_URL"
_HOW_ANTHROPIC = f"set {ANTHROPIC_KEY} to the key of the model provider"
_HOW_OPENAI = f"set {OWN_OPENAI_URL} to the address of a server, or {OPENAI_KEY} to a key of OpenAI"
_HOW_BEDROCK = "set AWS_REGION, and install neuraphage[bedrock] where the workers run"
_HOW_VERTEX = "set CLOUD_ML_REGION, and install neuraphage[vertex] where the workers run"
_HOW_INSTALLED = "install the package openai (neuraphage[openai]) where the workers run"


@dataclass(frozen=True, slots=True)
class OpenAIAccess:
    """Where Chat Completions are, and by which key.

    Args:
        base_url: address of the API.
        key: None where the server is given none.
    """

    base_url: str
    key: SecretStr | None


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """What can be called.

    Args:
        anthropic_key: of the Messages API; None where there is none.
        openai: None where there is nothing to call.
        bedrock_region, vertex_region: of these platforms; empty where they cannot be called.
        vertex_project: empty for that of the credentials.
        missing: of each provider that cannot be called, what to do about it.
    """

    anthropic_key: SecretStr | None = None
    openai: OpenAIAccess | None = None
    bedrock_region: str = ""
    vertex_region: str = ""
    vertex_project: str = ""
    missing: Mapping[Provider, str] = field(default_factory=dict)

    @property
    def problem(self) -> str | None:
        """What to set, where no model at all can be called."""
        if len(self.missing) < len(Provider):
            return None
        return f"{self.missing[Provider.ANTHROPIC]}; for models of OpenAI's API, {self.missing[Provider.OPENAI]}"

    def problem_of(self, model: str) -> str | None:
        """What to do before this model can be called; None when it can."""
        return self.missing.get(split_model(model).provider)


def model_access(settings: Settings) -> ModelAccess:
    """What this process can call. Keys are read where `own_secrets` keeps them, and nothing is connected to.

    `OPENAI_API_KEY` goes to OpenAI, or to where `OPENAI_BASE_URL` leads, and never to the address of the setting: a
    local server has no use for it. The setting `openai_api_key` goes with that one.

    Raises:
        SettingsError: an address is none.
    """
    missing: dict[Provider, str] = {}
    anthropic_key = own_secrets.value(ANTHROPIC_KEY)
    if not anthropic_key:
        missing[Provider.ANTHROPIC] = _HOW_ANTHROPIC
    openai = _openai(settings)
    if openai is None:
        missing[Provider.OPENAI] = _HOW_OPENAI
    elif find_spec("openai") is None:
        openai, missing[Provider.OPENAI] = None, _HOW_INSTALLED
    bedrock, vertex = _region("boto3", "AWS_REGION", "AWS_DEFAULT_REGION"), _region("google.auth", "CLOUD_ML_REGION")
    if not bedrock:
        missing[Provider.BEDROCK] = _HOW_BEDROCK
    if not vertex:
        missing[Provider.VERTEX] = _HOW_VERTEX
    return ModelAccess(
        anthropic_key=SecretStr(anthropic_key) if anthropic_key else None,
        openai=openai,
        bedrock_region=bedrock,
        vertex_region=vertex,
        vertex_project=own_secrets.value("ANTHROPIC_VERTEX_PROJECT_ID"),
        missing=missing,
    )


def eager_providers(settings: Settings, access: ModelAccess) -> tuple[Provider, ...]:
    """Whose SDKs a worker imports at its start: those that its tasks will likely call. Others wait for the first call.

    A key of OpenAI or a region alone says little: many environments have one for other programs.
    """
    likely = {Provider.ANTHROPIC, split_model(settings.default_model).provider}
    if settings.openai_base_url:
        likely.add(Provider.OPENAI)
    return tuple(provider for provider in Provider if provider in likely and provider not in access.missing)


def require_access(settings: Settings) -> ModelAccess:
    """As `model_access`.

    Raises:
        SettingsError: no model at all can be called, or an address is none.
    """
    access = model_access(settings)
    if access.problem is not None:
        raise SettingsError(f"no model can be called: {access.problem}")
    return access


def _region(package: str, *variables: str) -> str:
    """The region of a platform, by its own variables; empty where its package is not installed."""
    region = next(filter(None, map(own_secrets.value, variables)), "")
    try:
        return region if region and find_spec(package) is not None else ""
    except ModuleNotFoundError:  # of the package's parent
        return ""


def _openai(settings: Settings) -> OpenAIAccess | None:
    own, common = settings.openai_api_key, own_secrets.value(OPENAI_KEY)
    url, is_own = openai_url(settings.openai_base_url, own_secrets.variables())
    key = own or (SecretStr(common) if common and not is_own else None)
    is_named = is_own or bool(own_secrets.value("OPENAI_BASE_URL").strip())
    return OpenAIAccess(url, key) if is_named or key is not None else None
