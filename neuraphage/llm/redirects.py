"""Which redirects of the model's API are followed: those that stay where the key was sent anyway.

The HTTP client takes one header off a request that is sent on to another host, and keeps the conversation; whether the
key is in that header is the SDK's affair. So a redirect to another scheme, host or port ends the call, an upgrade to
https as well: whoever moved the API can say so, and a person writes the new address. A redirect that turns the request
into a GET asks for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import httpx2

from neuraphage.errors import FaultKind, ModelFault

MAX_REDIRECTS = 3
_KEEPS_METHOD = frozenset({307, 308})


def foreign_redirects_refused(variable: str) -> Callable[[httpx2.Response], None]:
    """A response hook of the HTTP client, called before a redirect is followed.

    It raises ModelFault when that leads elsewhere, or to something else; the message names the host, and what to do.

    Args:
        variable: where a person writes the address of this API.
    """
    return partial(_refuse, variable)


def _refuse(variable: str, response: httpx2.Response) -> None:
    if not response.has_redirect_location:
        return
    here = response.request.url
    asked = f"{here.scheme}://{here.host} answered {response.status_code}"
    try:
        there = here.join(response.headers["location"])
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        raise ModelFault(FaultKind.BAD_REQUEST, f"{asked}: a redirect to what is no address") from None
    where = f"{there.scheme}://{there.host}" + (f":{there.port}" if there.port else "")
    if (there.scheme, there.host, there.port, there.userinfo) != (here.scheme, here.host, here.port, here.userinfo):
        raise ModelFault(
            FaultKind.BAD_REQUEST,
            f"{asked}: a redirect to {where}, which is not followed, since the key and the conversation would go there;"
            f" if that is where the API is, set {variable} to it",
        )
    if response.status_code not in _KEEPS_METHOD:
        raise ModelFault(
            FaultKind.BAD_REQUEST,
            f"{asked}: a redirect that asks for another page instead of taking the request; check {variable}",
        )
