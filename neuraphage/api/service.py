"""What people ask for: submit, signal, and the publishing that follows. Thin over the store's scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neuraphage.api.cleaning import cleaned
from neuraphage.api.meant_prompt import meant_prompt
from neuraphage.api.refusing import refused
from neuraphage.decide.answers import Scope, read_answer, refuse_too_many
from neuraphage.decide.asking import meant
from neuraphage.decide.superseding import last_reply, superseding
from neuraphage.errors import (
    BadInput,
    PromptNotOpen,
    SettingsError,
)
from neuraphage.model.attachment import Attachment
from neuraphage.model.dependency import Dependency
from neuraphage.model.effect import MarkerName
from neuraphage.model.limits import NO_CHANGE, LimitChange
from neuraphage.model.model_choice import REASON_MAX_CHARS, ModelChoice
from neuraphage.model.place import Place
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.rule import Rule
from neuraphage.model.task import TaskRecord, TaskSpec
from neuraphage.ports import AddRule, Created, Dispatcher, Redaction, Signal, SignalKind, Signalled, TaskStore

MOVES_NO_TASK = frozenset({SignalKind.LIMIT, SignalKind.MODEL, SignalKind.UNLOCK})


class TaskService:
    """Requests of people.

    Args:
        store: creates, signals and reads.
        dispatcher: wake-up hints.
        redaction: takes secrets out of what people write, before it is stored.
        new_key: random idempotency keys.
        add_rule: keeps a rule that a person makes with an answer; None where nobody has a place for them.
        who: name of the person, told to others who answer the same task.
    """

    def __init__(
        self,
        store: TaskStore,
        dispatcher: Dispatcher,
        redaction: Redaction,
        new_key: Callable[[], str],
        add_rule: AddRule | None = None,
        who: str = "",
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._redaction = redaction
        self._new_key = new_key
        self._add_rule = add_rule
        self._who = who

    def submit(self, spec: TaskSpec, key: str | None = None, attachments: Sequence[Attachment] = ()) -> str:
        """Store a task and wake a worker.

        Args:
            spec: what to do.
            key: idempotency key; a repeat returns the first task's id.
            attachments: what the model is shown with the prompt.

        Returns:
            The task's id.

        Raises:
            BadInput: a label holds a secret, or the prompt or the system text is too long, perhaps only with what
                stands in place of its secrets.
            StoreUnavailable, StoreError: nothing was stored.
        """
        return self.create(spec, key, attachments).task_id

    def create(self, spec: TaskSpec, key: str | None, attachments: Sequence[Attachment]) -> Created:
        """As `submit`.

        Returns:
            Whether the task is new, its id, and the message that was sent.
        """
        clean = self.cleaned(spec)
        created = self._store.create(clean, key or spec.task_id, self._named(attachments))
        # also for a repeat: it may be this client's own second try, whose first answer was lost before it published
        if created.turn is not None:
            turn = created.turn
            self._dispatcher.publish_turn(turn.task_id, turn.iteration, turn.seq, MarkerName.TASK_CREATED.value)
        return created

    def cleaned(self, spec: TaskSpec) -> TaskSpec:
        """See `cleaning.cleaned`."""
        return cleaned(spec, self._redaction)

    def _named(self, attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
        """The same with names that may be stored."""
        return tuple(one.model_copy(update={"name": self._redaction.text(one.name)}) for one in attachments)

    def send(
        self, task_id: str, text: str, key: str | None = None, attachments: Sequence[Attachment] = ()
    ) -> Signalled:
        """Send a message to the model, with attachments if it has some; it is read with the next request.

        Raises:
            TaskNotFound, IllegalMove, BadInput: see the message.
        """
        if not text.strip():
            raise BadInput("the message is empty; write what the task should know")
        sent = Signal(SignalKind.INPUT, key or self._new_key(), self._redaction.text(text))
        return self._signal(task_id, replace(sent, attachments=self._named(attachments)))

    def answer(self, task_id: str, prompt_id: str | None, text: str, key: str | None = None) -> Signalled:
        """Answer an open prompt.

        Args:
            task_id: the task.
            prompt_id: which prompt, by id or unique beginning; None only for a question, when no other prompt is open.
            text: the answer; a permission prompt takes what decide/answers.py reads, a question its options' numbers
                too.
            key: idempotency key.

        Raises:
            PromptNotOpen: no such prompt is open.
            BadInput: no prompt is named where one must be, several fit, or the answer is none of the options.
            TaskNotFound, IllegalMove: see the message.
        """
        record = self._store.get(task_id)
        try:
            prompt = meant_prompt(record, prompt_id, text)
        except PromptNotOpen:
            if key is None or prompt_id is None:
                raise
            # a request whose first answer was lost is told that it had been taken, and nothing else
            return self._signal(task_id, Signal(SignalKind.ANSWER, key, self._redaction.text(text), prompt_id))
        word = self._without_secrets(prompt, meant(prompt, text))
        made: Rule | None = None
        if prompt.kind is PromptKind.PERMISSION:
            refuse_too_many(word, prompt.tool, record.grants)
            made = read_answer(word, prompt.tool).rule(prompt.tool or "")
        directory = self._directory_of(word, made, record)
        sent = Signal(SignalKind.ANSWER, key or self._new_key(), word, prompt.prompt_id, who=self._who)
        answer = self._signal(task_id, sent)
        if made is not None and self._add_rule is not None:
            try:
                self._add_rule(made, directory)
            except (BadInput, SettingsError) as error:
                raise SettingsError(
                    f"the answer was sent, and holds for this task; no rule was made: {error}"
                ) from None
        return answer

    def _without_secrets(self, prompt: Prompt, word: str) -> str:
        """An answer as it is stored. A call that runs with what stands for a secret would be another one."""
        answer = read_answer(word, prompt.tool) if prompt.kind is PromptKind.PERMISSION else None
        if answer is None or answer.changes is None:
            return self._redaction.text(word)
        if self._redaction.json(dict(answer.changes)) != dict(answer.changes):
            raise BadInput("the edit holds a secret, which is never stored; name a file or a variable that holds it")
        return word

    def _directory_of(self, word: str, made: Rule | None, record: TaskRecord) -> str | None:
        """Where a rule that an answer makes is to hold; None for everywhere."""
        if made is None:
            return None
        if self._add_rule is None:
            raise BadInput("rules cannot be made here; answer always, for the rest of the task")
        if read_answer(word, made.tool).scope is not Scope.HERE:
            return None
        if record.spec.working_dir is None:
            raise BadInput("the task has no directory in which a rule could hold; answer `always me` or `always`")
        return record.spec.working_dir

    def pause(self, task_id: str, key: str | None = None) -> Signalled:
        """Stop after the step in hand, until resumed.

        Raises:
            TaskNotFound, IllegalMove: see the message.
        """
        return self._signal(task_id, Signal(SignalKind.PAUSE, key or self._new_key()))

    def resume(self, task_id: str, key: str | None = None) -> Signalled:
        """Go on with a paused task.

        Raises:
            TaskNotFound, IllegalMove, LimitReached: see the message.
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

    def retry_reply(
        self, record: TaskRecord, entries: Sequence[Mapping[str, Any]], key: str | None = None
    ) -> Signalled:
        """Ask the model again for its last reply, which is superseded: it stays stored, and is sent no more.

        Args:
            record: of the task, read before its conversation.
            entries: its conversation.
            key: idempotency key.

        Raises:
            BadInput: there is no such reply, or the task has gone on since it was read.
            TaskNotFound, IllegalMove, LimitReached: see the message.
        """
        first = last_reply(entries)
        entry = None if first is None else superseding(first, record.counters.iteration)
        kind = SignalKind.RETRY_REPLY
        return self._signal(
            record.task_id, Signal(kind, key or self._new_key(), who=self._who, entry=entry, seq=record.seq)
        )

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

    def set_model(self, task_id: str, choice: ModelChoice, reason: str = "", key: str | None = None) -> Signalled:
        """Set the models of any task that may still go on; they hold from its next request on.

        Raises:
            BadInput: the reason is too long.
            TaskNotFound, IllegalMove: see the message.
        """
        if len(reason) > REASON_MAX_CHARS:
            raise BadInput(f"the reason has {len(reason)} characters, the limit is {REASON_MAX_CHARS}; shorten it")
        text = self._redaction.text(reason)
        sent = Signal(SignalKind.MODEL, key or self._new_key(), text, who=self._who, choice=choice)
        return self._signal(task_id, sent)

    def depend(self, task_id: str, dependency: Dependency, *, holds: bool, key: str | None = None) -> Signalled:
        """Have a task wait for another one, or not any more.

        Args:
            task_id: the task.
            dependency: what it is to wait for.
            holds: False takes the dependency away.
            key: idempotency key.

        Raises:
            TaskNotFound, IllegalMove, CircularDependency, BadInput: see the message.
        """
        kind = SignalKind.DEPEND if holds else SignalKind.UNDEPEND
        return self._signal(task_id, Signal(kind, key or self._new_key(), dependency=dependency))

    def unlock(self, task_id: str, resource: str, key: str | None = None) -> Signalled:
        """Take a lock away from a task; raises TaskNotFound or BadInput, where it does not hold it."""
        return self._signal(task_id, Signal(SignalKind.UNLOCK, key or self._new_key(), resource, who=self._who))

    def _signal(self, task_id: str, sent: Signal) -> Signalled:
        answer = self._store.signal(task_id, sent)
        error = refused(task_id, sent, answer, self._store.get)
        if error is not None:
            raise error
        if answer.place == Place.OUTBOX and sent.kind not in MOVES_NO_TASK:
            self._dispatcher.publish_turn(task_id, answer.iteration, answer.seq, sent.kind.value)
        for turn in answer.woken:
            if turn.task_id != task_id:
                self._dispatcher.publish_turn(turn.task_id, turn.iteration, turn.seq, sent.kind.value)
        return answer
