"""Where a model's API is: the setting, else the SDK's own variable, else the provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from neuraphage.errors import SettingsError

PROVIDER_URL = "https://api.anthropic.com"
SETTING = "anthropic_base_url"
VARIABLE = "ANTHROPIC_BASE_URL"
OPENAI_PROVIDER_URL = "https://api.openai.com/v1"
OPENAI_SETTING = "openai_base_url"
OPENAI_VARIABLE = "OPENAI_BASE_URL"


def model_url(setting: str | None, environ: Mapping[str, str]) -> str:
    """The address to call. One that is empty, as an unset variable of a stack file is, counts as not given.

    Args:
        setting: the setting's value.
        environ: names and values of the environment.

    Raises:
        SettingsError: it is no address of an HTTP server. A call would fail, and its task with it, for good.
    """
    return _first(((SETTING, setting), (VARIABLE, environ.get(VARIABLE))), PROVIDER_URL)


def openai_url(setting: str | None, environ: Mapping[str, str]) -> tuple[str, bool]:
    """The address of Chat Completions, and whether it is that of the setting; as `model_url`.

    Raises:
        SettingsError: it is no address of an HTTP server, or holds a password, which would be shown.
    """
    is_own = bool((setting or "").strip())
    given = ((OPENAI_SETTING, setting), (OPENAI_VARIABLE, environ.get(OPENAI_VARIABLE)))
    url = _first(given, OPENAI_PROVIDER_URL)
    if "@" in urlsplit(url).netloc:
        where = OPENAI_SETTING if is_own else OPENAI_VARIABLE
        raise SettingsError(f"{where} holds a login; leave it out, and set NEURAPHAGE_OPENAI_API_KEY to the key")
    return url, is_own


def _first(given: Iterable[tuple[str, str | None]], provider_url: str) -> str:
    for where, text in given:
        url = (text or "").strip()
        if url:
            _check(where, url)
            return url
    return provider_url


def _check(where: str, url: str) -> None:
    # The address itself is not told: it may hold a password.
    wanted = "write http://host:port or https://host, without spaces"
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError as error:
        raise SettingsError(
            f"{where} is no address: {error if '@' not in url else 'it cannot be read'}; {wanted}"
        ) from None
    if parts.scheme not in ("http", "https") or not named or any(c.isspace() or not c.isprintable() for c in url):
        raise SettingsError(f"{where} is no address of an HTTP server; {wanted}")
