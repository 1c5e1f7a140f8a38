"""What people send to tasks, and how wake-up hints reach the broker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from neuraphage.model.dependency import Dependency
from neuraphage.model.limits import NO_CHANGE, LimitChange
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.task import Status, TaskRecord, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuraphage.model.attachment import Attachment
    from neuraphage.model.message import Entry


class SignalVerdict(StrEnum):
    """Answers of signal."""

    ACCEPTED = "ACCEPTED"
    REPEATED = "REPEATED"
    """The same key was accepted before: nothing changed."""
    NOT_FOUND = "NOT_FOUND"
    ILLEGAL = "ILLEGAL"
    """The lifecycle table has no row for it from the present status."""
    PROMPT_NOT_OPEN = "PROMPT_NOT_OPEN"
    AT_LIMIT = "AT_LIMIT"
    """The task would fail at once: it has used up its turns or its money. Nothing changed."""
    FULL = "FULL"
    """The inbox is at its limit."""
    GONE_ON = "GONE_ON"
    """The task has gone on since it was read: what was meant is not its last reply any more. Nothing changed."""
    CYCLE = "CYCLE"
    """The other task waits for this one already, perhaps by way of others. Nothing changed."""
    NO_SUCH_TASK = "NO_SUCH_TASK"
    """The task that is to be waited for is not stored. Nothing changed."""
    NO_DEPENDENCY = "NO_DEPENDENCY"
    """It does not wait for that task. Nothing changed."""
    TOO_MANY = "TOO_MANY"
    """One of the bounds of the graph is reached (setting_graph.py). Nothing changed."""
    NOT_HELD = "NOT_HELD"
    """It does not hold that lock. Nothing changed."""
    NO_REPLY = "NO_REPLY"
    """There is no reply that could be superseded. Nothing changed."""


class SignalKind(StrEnum):
    """What people send to a task."""

    INPUT = "input"
    ANSWER = "answer"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    RESET = "reset"
    RETRY_REPLY = "retry_reply"
    """Asks the model again for its last reply, which is superseded."""
    LIMIT = "limit"
    """Sets limits of turns and money; retry and reset may carry them too."""
    MODEL = "model"
    """Sets which models are called."""
    DEPEND = "depend"
    """Has it wait for another task."""
    UNDEPEND = "undepend"
    """Has it wait for another task no more."""
    UNLOCK = "unlock"
    """Takes a lock away from it."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal.

    Args:
        kind: which.
        key: idempotency key; a repeat of the same key is a no-op.
        text: input, answer: the words; cancel, model: the reason; unlock: the resource.
        prompt_id: answer: the prompt.
        by: user or timeout.
        who: name of the person, as their machine knows it; empty where it is not known.
        limits: limit, retry, reset: the limits from now on.
        entry: retry_reply: what supersedes the last reply; None where there is none to supersede.
        choice: model: the models from the next request on.
        attachments: input: what is sent with the words.
        seq: retry_reply: of the record with which the conversation was read.
        dependency: depend, undepend: the task that is waited for.
    """

    kind: SignalKind
    key: str
    text: str = ""
    prompt_id: str | None = None
    by: str = "user"
    who: str = ""
    limits: LimitChange = NO_CHANGE
    entry: Entry | None = None
    seq: int = 0
    choice: ModelChoice | None = None
    attachments: tuple[Attachment, ...] = ()
    dependency: Dependency | None = None


@dataclass(frozen=True, slots=True)
class NextTurn:
    """A message to publish."""

    task_id: str
    seq: int
    iteration: int


@dataclass(frozen=True, slots=True)
class Signalled:
    """Answer of signal: verdict, where the task stands now, its next message if it is in the outbox, and whether its
    conversation is stored, without which an ended task cannot go on.

    `cycle`, of CYCLE: ids from the task that was to be waited for to the one that was to wait. `woken`: messages of
    other tasks, which had waited for this one.
    """

    verdict: SignalVerdict
    status: Status | None = None
    place: str = ""
    seq: int = 0
    iteration: int = 0
    has_conversation: bool = True
    cycle: tuple[str, ...] = ()
    woken: tuple[NextTurn, ...] = ()


class Created(NamedTuple):
    """Answer of create.

    Args:
        is_new: whether the task was made now; else the key was known.
        task_id: its id, or that of the first one.
        turn: the message to send; None where it waits for others, for its time or for a slot, or has gone on.
    """

    is_new: bool
    task_id: str
    turn: NextTurn | None = None


class TaskStore(Protocol):
    """What people's requests write and read."""

    def create(self, spec: TaskSpec, key: str, attachments: Sequence[Attachment] = ()) -> Created:
        """Store a new task in the outbox, or where it waits; a repeat of the key finds the first task.

        Args:
            spec: what to do.
            key: idempotency key.
            attachments: stand before the prompt.
        """
        ...

    def signal(self, task_id: str, sent: Signal) -> Signalled:
        """Send one signal; a repeat of its key changes nothing."""
        ...

    def get(self, task_id: str) -> TaskRecord:
        """One task, read at one instant."""
        ...

    def set_pool(self, name: str, limit_microusd: int | None) -> None:
        """Set the limit of a pool of money, for all workers at once; None goes back to that of the settings."""
        ...


class Dispatcher(Protocol):
    """Sends wake-up hints to the broker."""

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        """Send the message of the next turn.

        Args:
            task_id: the task.
            iteration: its turn.
            seq: of the step the message announces.
            after: what the turn follows, by a marker's name or in a word of ours; for people who watch the queue.

        Returns:
            False when the broker refused; the sweep publishes later, so that is no error.
        """
        ...

    def queue_length(self) -> int | None:
        """Messages waiting for workers; None when the broker does not answer."""
        ...


class TurnDispatcher(Dispatcher, Protocol):
    """A dispatcher of a process that takes turns."""

    def has_waiting(self) -> bool:
        """Whether a message waits for a worker; asked at the end of a turn, so it must cost little.

        True where the broker cannot tell, and for a moment after one had waited. No is never an old answer.
        """
        ...


class Waker(Dispatcher, Protocol):
    """A dispatcher of a process that often needs none: it is made when its first message is sent."""

    def check(self) -> None:
        """See that the broker's address can be read; makes no connection.

        Raises:
            SettingsError: it cannot.
        """
        ...

    def prepare(self) -> None:
        """Make what the next message needs, so that nothing but sending it is left.

        Raises:
            SettingsError: the broker's address cannot be read.
        """
        ...

    def close(self) -> None:
        """Close what was made."""
        ...
