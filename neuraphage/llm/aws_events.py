"""The events of a Bedrock stream: AWS frames, each with an event of the Messages API inside."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

from neuraphage.errors import FaultKind, ModelFault

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_TYPES = {
    "throttlingException": "rate_limit_error",
    "modelTimeoutException": "timeout_error",
    "serviceUnavailableException": "overloaded_error",
    "validationException": "invalid_request_error",
}


def aws_data(pieces: Iterable[bytes]) -> Iterator[Any]:
    """The data of each event, parsed; that of an exception in the form of an `error` event.

    Raises:
        ModelFault: GARBAGE, when a frame cannot be read. ValueError: what is in it cannot.
    """
    from botocore.eventstream import EventStreamBuffer, ParserError  # noqa: PLC0415 - only Bedrock needs it

    buffer = EventStreamBuffer()
    try:
        for piece in pieces:
            buffer.add_data(piece)
            for frame in buffer:
                told = frame.to_response_dict()
                body = json.loads(told["body"] or b"{}")
                if told["status_code"] == 200:
                    if "bytes" in body:
                        yield json.loads(base64.b64decode(body["bytes"]))
                else:
                    code = str(told["headers"].get(":exception-type", "error"))
                    error = {"type": _TYPES.get(code, "api_error"), "message": f"{code}: {body.get('message', '')}"}
                    yield {"type": "error", "error": error}
    except ParserError as error:
        raise ModelFault(FaultKind.GARBAGE, f"a frame of the stream cannot be read: {error}") from None
