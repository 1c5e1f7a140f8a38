"""Models of Anthropic on Bedrock and Vertex, by the SDK's own clients, which sign and address each request.

Credentials and regions come from where the platforms' own tools have them (environment, profiles, roles). Requests are
signed in the worker; a relay sends them as they are, and keeps what signs them in memory alone. Held against
a local server up to the request and its reply; never against the platforms themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypedDict, Unpack

from neuraphage.llm.sdk_client import SdkClient

if TYPE_CHECKING:
    import anthropic
    import httpx2


class PlatformOptions(TypedDict, total=False):
    """Arguments by name of a client of a platform; see _PlatformClient."""

    base_url: str | None
    connect_timeout_s: float
    read_timeout_s: float
    call_timeout_s: float
    transport: Callable[[], httpx2.BaseTransport] | None


class _PlatformClient(SdkClient):
    """What both have: a region, an address, and limits of time.

    Args:
        region: of the platform.
        base_url: another address than the region's own; None for that of the variable, or the region's.
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence of the server.
        call_timeout_s: longest whole call.
        transport: makes the way to the provider by a relay, for calls that have a call id; None for none.
    """

    VARIABLE: ClassVar[str]
    """Holds another address than the region's own."""

    def __init__(
        self,
        region: str,
        base_url: str | None = None,
        *,
        connect_timeout_s: float = 10.0,
        read_timeout_s: float = 60.0,
        call_timeout_s: float = 900.0,
        transport: Callable[[], httpx2.BaseTransport] | None = None,
    ) -> None:
        super().__init__(None, call_timeout_s, transport)
        self._region = region
        self._base_url = base_url
        self._timeouts_s = (connect_timeout_s, read_timeout_s)

    def _http(self, way: httpx2.BaseTransport | None) -> httpx2.Client:
        from neuraphage.llm.streamed_call import http_client  # noqa: PLC0415 - imports the SDK, see sdks.py

        return http_client(*self._timeouts_s, variable=self.VARIABLE, transport=way)


class BedrockClient(_PlatformClient):
    """Implements ports.ModelClient over Amazon Bedrock; needs boto3. A region is as `eu-central-1`."""

    VARIABLE = "ANTHROPIC_BEDROCK_BASE_URL"

    def _open(self, way: httpx2.BaseTransport | None) -> anthropic.AnthropicBedrock:
        import anthropic  # noqa: PLC0415 - see sdks.py

        http = self._http(way)
        return anthropic.AnthropicBedrock(
            aws_region=self._region, base_url=self._base_url, max_retries=0, timeout=http.timeout, http_client=http
        )


class VertexClient(_PlatformClient):
    """Implements ports.ModelClient over Google Cloud's Vertex; needs google-auth.

    Args:
        region: as `europe-west1`, or `global`.
        project: id of the project; None for that of the credentials.
        access_token: a credential; None for those that Google's own tools find.
        more: as for the other platform.
    """

    VARIABLE = "ANTHROPIC_VERTEX_BASE_URL"

    def __init__(
        self,
        region: str,
        project: str | None = None,
        *,
        access_token: str | None = None,
        **more: Unpack[PlatformOptions],
    ) -> None:
        super().__init__(region, **more)
        self._project = project
        self._access_token = access_token

    def _open(self, way: httpx2.BaseTransport | None) -> anthropic.AnthropicVertex:
        import anthropic  # noqa: PLC0415 - see sdks.py

        http = self._http(way)
        return anthropic.AnthropicVertex(
            region=self._region,
            project_id=anthropic.NOT_GIVEN if self._project is None else self._project,
            access_token=self._access_token,
            base_url=self._base_url,
            max_retries=0,
            timeout=http.timeout,
            http_client=http,
        )
