"""What people ask for: submit, signal, and the publishing that follows. Thin over the store's scripts."""

from __future__ import annotations

from collections.abc import Callable

from neuraphage.decide.going_on import anew, going_on, reset
from neuraphage.decide.limits import limit_failure, limit_reached
from neuraphage.errors import BadInput, IllegalMove, LimitReached, PromptNotOpen, StoreError, TaskNotFound
from neuraphage.model.effect import MarkerName
from neuraphage.model.limits import NO_CHANGE, LimitChange
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import NAME_MAX_CHARS, TEXT_MAX_CHARS, TaskSpec
from neuraphage.ports import Dispatcher, Redaction, Signal, SignalKind, Signalled, SignalVerdict, TaskStore


class TaskService:
    """Requests of people.

    Args:
        store: creates, signals and reads.
        dispatcher: wake-up hints.
        redaction: takes secrets out of what people write, before it is stored.
        new_key: random idempotency keys.
    """

    def __init__(
        self, store: TaskStore, dispatcher: Dispatcher, redaction: Redaction, new_key: Callable[[], str]
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._redaction = redaction
        self._new_key = new_key

    def submit(self, spec: TaskSpec, key: str | None = None) -> str:
        """Store a task and wake a worker.

        Args:
            spec: what to do.
            key: idempotency key; a repeat returns the first task's id.

        Returns:
            The task's id.

        Raises:
            BadInput: the prompt or the system text is too long, perhaps only with what stands in place of its secrets.
            StoreUnavailable, StoreError: nothing was stored.
        """
        clean = spec.model_copy(
            update={
                "prompt": self._redaction.text(spec.prompt),
                "name": self._redaction.text(spec.name)[:NAME_MAX_CHARS],
                "system": self._redaction.text(spec.system),
                "tags": tuple(self._redaction.text(tag) for tag in spec.tags),
            }
        )
        for field in ("prompt", "system"):
            length = len(getattr(clean, field))
            if length > TEXT_MAX_CHARS:
                raise BadInput(f"{field}: it has {length} characters, the limit is {TEXT_MAX_CHARS}; shorten it")
        _, task_id = self._store.create(clean, key or spec.task_id)
        # also for a repeat: it may be this client's own second try, whose first answer was lost before it published
        self._dispatcher.publish_turn(task_id, 0, 1, MarkerName.TASK_CREATED.value)
        return task_id

    def send(self, task_id: str, text: str, key: str | None = None) -> Signalled:
        """Send a message to the model; it is read with the next request.

        Raises:
            TaskNotFound, IllegalMove, BadInput: see the message.
        """
        if not text.strip():
            raise BadInput("the message is empty; write what the task should know")
        return self._signal(task_id, Signal(SignalKind.INPUT, key or self._new_key(), self._redaction.text(text)))

    def answer(self, task_id: str, prompt_id: str | None, text: str, key: str | None = None) -> Signalled:
        """Answer an open prompt.

        Args:
            task_id: the task.
            prompt_id: which prompt, by id or unique beginning; None when only one is open.
            text: the answer; a permission prompt takes yes, no, always or never.
            key: idempotency key.

        Raises:
            PromptNotOpen: no such prompt is open.
            BadInput: several are open and none is named, or the answer is none of the options.
            TaskNotFound, IllegalMove: see the message.
        """
        record = self._store.get(task_id)
        prompts = [p for p in record.prompts if prompt_id is None or p.prompt_id.startswith(prompt_id)]
        if not prompts:
            raise PromptNotOpen(
                f"{task_id} has no open prompt{f' {prompt_id!r}' if prompt_id else ''}; "
                "it was answered, timed out, or never asked"
            )
        if len(prompts) > 1:
            names = ", ".join(f"{p.prompt_id} ({p.text})" for p in prompts)
            raise BadInput(f"several prompts are open, name one: {names}")
        prompt = prompts[0]
        word = text.strip()
        if not word:
            raise BadInput("the answer is empty; write what the task should know")
        if prompt.options:
            short = {"y": "yes", "n": "no"} if prompt.kind is PromptKind.PERMISSION else {}
            meant = short.get(word.lower(), word).casefold()
            fitting = [option for option in prompt.options if option.strip().casefold() == meant]
            if not fitting:
                raise BadInput(f"{text!r} is no answer to {prompt.text!r}; answer one of: {', '.join(prompt.options)}")
            word = fitting[0]
        sent = Signal(SignalKind.ANSWER, key or self._new_key(), self._redaction.text(word), prompt.prompt_id)
        return self._signal(task_id, sent)

    def pause(self, task_id: str, key: str | None = None) -> Signalled:
        """Stop after the step in hand, until resumed.

        Raises:
            TaskNotFound, IllegalMove: see the message.
        """
        return self._signal(task_id, Signal(SignalKind.PAUSE, key or self._new_key()))

    def resume(self, task_id: str, key: str | None = None) -> Signalled:
        """Go on with a paused task.

        Raises:
            TaskNotFound, IllegalMove: see the message.
        """
        return self._signal(task_id, Signal(SignalKind.RESUME, key or self._new_key()))

    def cancel(self, task_id: str, reason: str = "", key: str | None = None) -> Signalled:
        """End a task; a running effect is stopped.

        Raises:
            TaskNotFound, IllegalMove: see the message.
        """
        return self._signal(task_id, Signal(SignalKind.CANCEL, key or self._new_key(), self._redaction.text(reason)))

    def retry(self, task_id: str, key: str | None = None, limits: LimitChange = NO_CHANGE) -> Signalled:
        """Go on with a failed task from where it stopped (only if it is recoverable), under these limits.

        Raises:
            TaskNotFound, IllegalMove, LimitReached: see the message.
        """
        return self._signal(task_id, Signal(SignalKind.RETRY, key or self._new_key(), limits=limits))

    def reset(self, task_id: str, key: str | None = None, limits: LimitChange = NO_CHANGE) -> Signalled:
        """Archive a failed task's conversation and start anew, under these limits. Its cost counts on.

        Raises:
            TaskNotFound, IllegalMove, LimitReached: see the message.
        """
        return self._signal(task_id, Signal(SignalKind.RESET, key or self._new_key(), limits=limits))

    def limit(self, task_id: str, limits: LimitChange, key: str | None = None) -> Signalled:
        """Set limits of any task that may still go on; they hold from its next model call on.

        Raises:
            BadInput: no limit is given.
            TaskNotFound, IllegalMove: see the message.
        """
        if limits == NO_CHANGE:
            raise BadInput("no limit is given; say how many turns or how much money the task may use")
        return self._signal(task_id, Signal(SignalKind.LIMIT, key or self._new_key(), limits=limits))

    def _signal(self, task_id: str, sent: Signal) -> Signalled:
        answer = self._store.signal(task_id, sent)
        match answer.verdict:
            case SignalVerdict.NOT_FOUND:
                raise TaskNotFound(f"no task {task_id!r}; list them with `neuraphage list`")
            case SignalVerdict.ILLEGAL:
                raise IllegalMove(
                    f"{task_id} is {answer.status}: it takes no {sent.kind.value} now{self._hint(task_id, answer)}"
                )
            case SignalVerdict.AT_LIMIT:
                raise LimitReached(self._limit_text(task_id, sent.kind))
            case SignalVerdict.PROMPT_NOT_OPEN:
                raise PromptNotOpen(f"{task_id}: prompt {sent.prompt_id!r} is not open; it was answered or timed out")
            case SignalVerdict.FULL:
                raise BadInput(f"{task_id} has too many unread messages; wait until it has read some")
        if answer.place == "outbox":
            self._dispatcher.publish_turn(task_id, answer.iteration, answer.seq, sent.kind.value)
        return answer

    def _hint(self, task_id: str, answer: Signalled) -> str:
        """What a person can do instead; nothing about a record that cannot be read."""
        try:
            return f"; {going_on(self._store.get(task_id), has_conversation=answer.has_conversation)}"
        except StoreError:
            return ""

    def _limit_text(self, task_id: str, kind: SignalKind) -> str:
        record = self._store.get(task_id)
        if kind is SignalKind.RETRY:
            return f"{task_id}: {limit_failure(record) or 'a limit forbids a further call; raise it'}"
        reached = limit_reached(anew(record)) or "A limit forbids a further call."
        return f"{task_id}: {reached} To go on: {reset(record) if kind is SignalKind.RESET else going_on(record)}."
