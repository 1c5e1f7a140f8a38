"""Every error neuraphage raises, one tree, branches named by what the caller does next.

NeuraphageError
├── BadInput                  correct the call and try again (command line: exit code 2)
│   ├── TaskNotFound          no task has this id (or the prefix fits several)
│   ├── IllegalMove           the task's status does not allow this
│   │   └── LimitReached      it would fail at once: raise its limit of turns or money
│   ├── CircularDependency    the tasks would wait for each other: take another edge away first
│   ├── PromptNotOpen         the answer names a prompt that is not open
│   └── SettingsError         two settings clash, or one is out of its range
├── StoreError                the state server did not do the work; nothing was half done
│   ├── StoreUnavailable      it is down, loading, read-only or full: wait, then repeat
│   │   └── AccessRefused     wrong password, ACL, certificate, service or version: correct the settings
│   └── CorruptRecord         a stored record breaks its own rules
│       ├── DamagedKey        a key holds another type than it should: `neuraphage repair`
│       └── SchemaTooNew      it was written by a newer release: upgrade this process
├── ModelFault                a call of the model failed; `kind` says how
├── SpoolError                a command could not be handed to its own process
│   └── ConfinementFailed     its sandbox did not come up, it did not begin: make the sandbox anew and repeat
├── RelayError                a model call could not be handed to the relay, or kept from it
└── StackError                a process of the local stack did not start or stay up

Outside the tree, because no broad handler may swallow them (they derive from BaseException):
LeaseLost (this process must stop advancing the task), CancelRequested (a person asked to stop the effect
in hand).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class NeuraphageError(Exception):
    """Base of every error a caller may want to catch."""


class BadInput(NeuraphageError):
    """The call itself is wrong; the message says what would be right."""


class TaskNotFound(BadInput):
    """No task has this id."""


class IllegalMove(BadInput):
    """The lifecycle table has no row for this move from the task's present status."""


class LimitReached(IllegalMove):
    """The task has used up its turns or its money; the message names the command that raises the limit."""


class CircularDependency(BadInput):
    """A task was to wait for one that waits for it, perhaps by way of others; the message shows the circle."""


class PromptNotOpen(BadInput):
    """An answer named a prompt that is not open (answered already, timed out, or never asked)."""


class SettingsError(BadInput):
    """Settings are out of range or clash with each other."""


class StoreError(NeuraphageError):
    """The state server refused or failed; no write was half done."""


class StoreUnavailable(StoreError):
    """The state server is away, loading, read-only or full. Waiting and repeating is right.

    Args:
        words: what the server itself said (`OOM command not allowed ...`); empty when it said nothing.
    """

    def __init__(self, *args: object, words: str = "") -> None:
        super().__init__(*args)
        self.words = words


class AccessRefused(StoreUnavailable):
    """The state server is there and does not let this process work: the message says what to correct.

    Workers wait as if it were away, since an operator may correct it on the server; a command ends at once.
    """


class CorruptRecord(StoreError):
    """A stored record breaks its own rules; the message names the record and the rule."""


class DamagedKey(CorruptRecord):
    """A key of the state server holds another type than it should, and nothing was begun.

    `neuraphage repair` puts it right, so a worker holds a paid outcome until then; other tasks go on.
    """


class SchemaTooNew(CorruptRecord):
    """A stored record was written by a newer release and is left untouched."""


class FaultKind(StrEnum):
    """How a model call failed. The retry rule of each kind is in `decide/retry.py`."""

    RATE_LIMITED = "rate_limited"
    """429: the provider names the wait."""
    OVERLOADED = "overloaded"
    """529, or an `overloaded_error` event inside a stream."""
    SERVER_ERROR = "server_error"
    """500 and other 5xx."""
    NETWORK = "network"
    """The connection failed or broke, before or inside the stream."""
    TIMEOUT = "timeout"
    """No byte came for the read timeout, or the total time ran out."""
    TRUNCATED = "truncated"
    """The stream ended cleanly without message_stop or without a stop reason."""
    GARBAGE = "garbage"
    """A chunk that is not what the API documents."""
    BAD_REQUEST = "bad_request"
    """400 or 422: repeating the same request cannot help. Or a redirect to another place, which is not followed."""
    BAD_HISTORY = "bad_history"
    """400 about the messages themselves: something that the provider had sent is not taken back."""
    CONTEXT_OVERFLOW = "context_overflow"
    """400 or 413: the conversation does not fit into the model's window, or has more bytes than a request may."""
    AUTHENTICATION = "authentication"
    """401: the key is missing or wrong."""
    PERMISSION = "permission"
    """403: the key may not use this model; or the account has no money left, is at its limit or on hold."""
    NOT_FOUND = "not_found"
    """404: no such model."""
    TOO_LARGE = "too_large"
    """The reply is over `max_entry_bytes`. In what earlier releases stored: also a 413."""


class ModelFault(NeuraphageError):
    """A model call failed.

    Args:
        kind: which fault (see FaultKind).
        message: what was tried and what came back, without secrets.
        retry_after_s: seconds the provider asked to wait, if it did.
        usage: tokens that a reply had told of when it broke off or was found too long, by the fields of
            `model.usage.Usage`; None when no reply had begun. A reply that had begun may be billed.
        model: who wrote that reply, if it said so.
        told: what the headers of the answer say of the provider's limits, by the fields of `model.capacity.ToldLimits`;
            None when there was no answer, or it said nothing.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        retry_after_s: float | None = None,
        *,
        usage: Mapping[str, int] | None = None,
        model: str = "",
        told: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"model call failed ({kind.value}): {message}")
        self.kind = kind
        self.detail = message
        self.retry_after_s = retry_after_s
        self.usage = usage
        self.model = model
        self.told = told

    @property
    def reply_begun(self) -> bool:
        """Whether the provider had begun to reply."""
        return self.usage is not None


class SpoolError(NeuraphageError):
    """A command could not be handed to its own process, or its record cannot be read."""


class ConfinementFailed(SpoolError):
    """What was to be made around a command could not be, so the command did not begin, and nothing was decided.

    A sandbox hides what it found: something of that may be gone when it is made. So it is made anew.
    """


class RelayError(NeuraphageError):
    """The relay could not take a call of the model, or nobody can tell what it did with it."""


class StackError(NeuraphageError):
    """A process of the local stack did not start or did not stay up."""


class LeaseLost(BaseException):
    """This process no longer holds the task's lease: stop, start nothing, kill nothing that is shared."""


class WriteLost(LeaseLost):
    """As LeaseLost, since an earlier write of this lease is missing (the server lost it): nobody else need hold it."""


class CancelRequested(BaseException):
    """A person cancelled the task: stop the effect in hand and clean up after it.

    Who breaks a reply of the model off for it says in `usage` and `model` what that had told, as a ModelFault does.
    """

    usage: Mapping[str, int] | None = None
    model: str = ""
