"""Chooses the client of a request by the prefix of its model's id."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from neuraphage.decide.model_ids import Provider, split_model
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import CountsTokens, Delta, Interrupt, ModelClient


class RoutedClient:
    """Implements ports.ModelClient: `openai:NAME` goes to one client, an id without a prefix to another.

    Args:
        clients: those that this worker has.
        missing: of each other provider, what to set; told when a task's model is one of it.
    """

    def __init__(self, clients: Mapping[Provider, ModelClient], missing: Mapping[Provider, str]) -> None:
        self._clients = dict(clients)
        self._missing = dict(missing)

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """See ports.ModelClient.

        Raises:
            ModelFault: AUTHENTICATION, when this worker has no access to the provider; as the client otherwise.
        """
        parts = split_model(request.model)
        client = self._clients.get(parts.provider)
        if client is None:
            interrupt.check()
            raise ModelFault(FaultKind.AUTHENTICATION, f"model {request.model}: {self._missing[parts.provider]}")
        return client.call(request, on_delta, interrupt)

    def count_tokens(self, request: ModelRequest) -> int:
        """See ports.CountsTokens.

        Raises:
            ModelFault: the provider cannot count, or did not say; or this worker has no access to it.
        """
        client = self._clients.get(split_model(request.model).provider)
        if not isinstance(client, CountsTokens):
            raise ModelFault(FaultKind.NOT_FOUND, f"nobody counts the tokens of {request.model}")
        return client.count_tokens(request)
