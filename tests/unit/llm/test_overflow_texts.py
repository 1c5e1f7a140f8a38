"""What servers answer to a conversation that is too long, as people have reported it, and what only looks like it."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import openai
import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.chat.faults import fault_of as chat_fault_of
from neuraphage.llm.faults import fault_of


def _messages_api(status: int, body: Any) -> ModelFault:
    with anthropic.Anthropic(api_key="k", base_url="http://x") as client:
        return fault_of(client._make_status_error_from_response(_answer(status, body)), streaming=False, now_s=0.0)


def _chat(status: int, body: Any) -> ModelFault:
    with openai.OpenAI(api_key="k", base_url="http://x") as client:
        return chat_fault_of(client._make_status_error_from_response(_answer(status, body)), streaming=False, now_s=0.0)


def _answer(status: int, body: Any) -> httpx2.Response:
    request = httpx2.Request("POST", "http://x")
    if isinstance(body, str):
        return httpx2.Response(status, request=request, text=body)
    return httpx2.Response(status, request=request, json=body)


def _anthropic(error_type: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": error_type, "message": message}}


def _error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


INVALID = "invalid_request_error"
OF_MESSAGES = [
    (413, _anthropic("request_too_large", "Request exceeds the maximum size")),
    (413, _anthropic(INVALID, "Request size exceeds model context window")),
    (413, "<html><h1>413 Request Entity Too Large</h1></html>"),  # a proxy between
    (400, _anthropic(INVALID, "prompt is too long: 213462 tokens > 200000 maximum")),
    (400, _anthropic(INVALID, "input length and `max_tokens` exceed context limit: 156321 + 48384 > 200000")),
    (400, {"message": "Input is too long for requested model."}),  # Bedrock
    (400, {"message": "The model returned the following errors: prompt is too long: 227255 tokens > 200000 maximum"}),
]
OF_CHAT = [
    (400, _error("This model's maximum context length is 8192 tokens. However, you requested 9001 tokens.")),
    (400, _error("Your input exceeds the context window of this model.", code="context_length_exceeded")),
    (400, _error("Input tokens exceed the configured limit of 272000 tokens.", type=INVALID)),
    (400, _error("Requested token count exceeds the model's maximum context length of 131072 tokens.")),
    (400, _error("Input length (265330) exceeds model's maximum context length (262144).")),
    (400, _error("Input length 131393 exceeds the maximum allowed input length of 131040 tokens.")),
    (400, _error("request (9 tokens) exceeds the available context size (4 tokens)", type="exceed_context_size_error")),
    (500, _error("the request exceeds the available context size. try increasing the context size")),  # llama.cpp
    (400, _error("This model's maximum context length is 262144 tokens. However, you requested 0 output tokens")),
    (400, _error("'max_tokens' is too large: 2000. This model's maximum context length is 4096 tokens")),  # vLLM
    (400, _error("prompt too long; exceeded max context length by 100918 tokens")),  # Ollama
    (400, _error("The number of tokens to keep from the initial prompt is greater than the context length")),
    (400, _error("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).")),  # Vertex
    (400, [_error("The input token count exceeds the maximum number of tokens allowed 32768.", code=400)]),
    (400, _error("This model's maximum prompt length is 131072 but the request contains 537812 tokens")),  # xAI
    (400, _error("Please reduce the length of the messages or completion.")),  # Groq
    (400, _error("The input (516368 tokens) is longer than the model's context length (262144 tokens).")),
    (400, _error("Prompt contains 40000 tokens, too large for model with 32768 maximum context length")),  # Mistral
    (400, _error("Prompt has 256468 tokens, but the configured context size is 256000 tokens")),
    (400, _error("prompt token count of 136044 exceeds the limit of 128000", code="model_max_prompt_tokens_exceeded")),
    (400, _error("Your request exceeded model token limit: 262144 (requested: 291351)")),  # Kimi
    (400, _error("invalid params, context window exceeds limit")),  # MiniMax
    (413, ""),  # Cerebras says no word
    (413, _error("Request too large for model `m` on tokens per minute (TPM): Limit 6", code="rate_limit_exceeded")),
    (429, _error("Request too large for m in organization o on tokens per min (TPM): L", code="rate_limit_exceeded")),
]


@pytest.mark.parametrize(
    ("fault", "status", "body"),
    [*((_messages_api, *case) for case in OF_MESSAGES), *((_chat, *case) for case in OF_CHAT)],
)
def test_a_conversation_that_is_too_long_is_known(fault: Any, status: int, body: Any) -> None:
    """Each of them has the conversation made shorter once, whatever its status, its code and its words."""
    assert fault(status, body).kind is FaultKind.CONTEXT_OVERFLOW


@pytest.mark.parametrize(
    ("fault", "status", "body", "kind"),
    [
        (_messages_api, 429, {"message": "Too many tokens, please wait before trying again."}, FaultKind.RATE_LIMITED),
        (_messages_api, 400, {"message": "Too many tokens, please wait before trying again."}, FaultKind.BAD_REQUEST),
        (_messages_api, 400, _anthropic(INVALID, "max_tokens: 99999 > 8192"), FaultKind.BAD_REQUEST),
        (_chat, 429, _error("Rate limit reached on tokens per min (TPM): Limit 30000"), FaultKind.RATE_LIMITED),
        (_chat, 500, _error("Too many tokens, please wait before trying again."), FaultKind.SERVER_ERROR),
        (_messages_api, 400, _anthropic(INVALID, "Could not process image"), FaultKind.BAD_HISTORY),
        (
            _messages_api,
            400,
            _anthropic(INVALID, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6 > 5 bytes"),
            FaultKind.BAD_HISTORY,
        ),
        (_chat, 400, _error("You uploaded an unsupported image.", code="image_parse_error"), FaultKind.BAD_HISTORY),
        (_chat, 500, _error("image input is not supported - hint: provide the mmproj"), FaultKind.BAD_HISTORY),
        (_chat, 400, _error("This model does not support image inputs"), FaultKind.BAD_HISTORY),
        (_chat, 400, _error("'max_tokens' is not supported with this model"), FaultKind.BAD_REQUEST),
        (_chat, 400, _error("temperature exceeds the maximum of 2"), FaultKind.BAD_REQUEST),
        (_chat, 400, _error("Invalid 'messages[2]': string too long"), FaultKind.BAD_HISTORY),
    ],
)
def test_what_only_looks_like_it_is_not(fault: Any, status: int, body: Any, kind: FaultKind) -> None:
    """A summary would be paid for nothing."""
    assert fault(status, body).kind is kind
