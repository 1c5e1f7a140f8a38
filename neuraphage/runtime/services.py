"""What a turn works with: every port, built once a process by `wiring` and handed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuraphage.decide.attachments import takes_images
from neuraphage.decide.context_bounds import ContextBounds, bounds_of
from neuraphage.decide.context_size import tokens_of
from neuraphage.decide.request_head import short_hash, system_head, tool_definitions
from neuraphage.decide.rules.reading import rules_in
from neuraphage.decide.snapshot import Bounds
from neuraphage.decide.summary_model import Candidate, is_tier, named
from neuraphage.decide.tiers import OWN
from neuraphage.model.capacity import LearnedLimits
from neuraphage.model.model_facts import SMALLEST, ModelFacts
from neuraphage.model.rule import Rule
from neuraphage.model.task import TaskRecord
from neuraphage.model.tool import ToolDeclaration
from neuraphage.model.usage import PriceQuote
from neuraphage.ports import (
    Clock,
    CountsTokens,
    Guards,
    ModelClient,
    NoGuards,
    NoNotices,
    NoRelay,
    OwnRules,
    PromptNotices,
    Redaction,
    Relay,
    ShellReader,
    Spool,
    ToolBox,
    TurnDispatcher,
    TurnFiles,
    TurnStore,
)
from neuraphage.runtime.decision_bounds import bounds_of_decisions
from neuraphage.settings import Settings


@dataclass(frozen=True)
class Services:
    """The ports of one worker process.

    Args:
        settings: limits and times.
        clock: local time.
        store: what turns write.
        dispatcher: wake-up hints.
        model: the model client.
        tools: the tools.
        spool: commands that outlive the worker.
        shell: reads command lines.
        files: of the working directory, as the tools see them.
        redaction: takes secrets out.
        quote: the price of a model by its id.
        new_claim_id: random ids.
        own_rules: those that the person of this process has made; None for none.
        project_rules: those of projects that the same person trusts; None for none.
        notices: tells people outside of prompts that have opened.
        relay: holds calls of the model, so that they outlive this process.
        guards: judge what a turn is about to do.
        model_facts: sizes of a model, by its id.
        can_call: whether this process has access to the provider of a model, by its id.
        key_pool: names the key that the model is called with, for those who share its limits.
    """

    settings: Settings
    clock: Clock
    store: TurnStore
    dispatcher: TurnDispatcher
    model: ModelClient
    tools: ToolBox
    spool: Spool
    shell: ShellReader
    files: TurnFiles
    redaction: Redaction
    quote: Callable[[str], PriceQuote]
    new_claim_id: Callable[[], str]
    own_rules: OwnRules | None = None
    project_rules: OwnRules | None = None
    notices: PromptNotices = field(default_factory=NoNotices)
    relay: Relay = field(default_factory=NoRelay)
    guards: Guards = field(default_factory=NoGuards)
    model_facts: Callable[[str], ModelFacts] = lambda _: SMALLEST
    can_call: Callable[[str], bool] = lambda _: True
    key_pool: str = ""
    declarations: dict[str, ToolDeclaration] = field(default_factory=dict)
    learned: dict[str, tuple[LearnedLimits, float]] = field(default_factory=dict)
    """What providers say of their limits, by gate, and when this process has noted it (boot time in seconds)."""
    _candidates: dict[tuple[str, str | None], Candidate] = field(default_factory=dict)
    """Settings and tables stay while a process lives, and every step of a turn asks."""
    rules: tuple[Rule, ...] = field(init=False)
    tool_definitions: list[dict[str, Any]] = field(init=False)
    tools_hash: str = field(init=False)
    bounds: Bounds = field(init=False)
    can_count: bool = field(init=False)
    """Whether the model's provider counts the tokens of a request."""
    _tools_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        chosen = self.settings
        sandboxed, blocked = chosen.auto_allow_sandboxed, chosen.blocked_hosts
        rules = rules_in(chosen.rules, allow_sandboxed=sandboxed, blocked_hosts=blocked)  # read once: the settings stay
        object.__setattr__(self, "rules", rules)
        self.declarations.update({d.name: d for d in self.tools.declarations()})
        definitions = tool_definitions(self.declarations.values())
        object.__setattr__(self, "tool_definitions", definitions)
        object.__setattr__(self, "_tools_tokens", tokens_of(definitions))
        object.__setattr__(self, "tools_hash", short_hash(definitions))
        object.__setattr__(self, "bounds", bounds_of_decisions(chosen))
        object.__setattr__(self, "can_count", isinstance(self.model, CountsTokens))

    def context_bounds(self, record: TaskRecord, waiting: Sequence[str] = ()) -> ContextBounds:
        """How long the next request of a task may be.

        Args:
            record: of the task.
            waiting: words that it will hold and the conversation does not hold yet.
        """
        return bounds_of(
            self.settings,
            self.model_facts(record.choice.model),
            record.spec.max_tokens,
            head_tokens=self._tools_tokens + system_head(record.spec).tokens,
            waiting_tokens=tokens_of(waiting),
        )

    def candidate(self, own: str, begun: str | None = None) -> Candidate:
        """The model that a summary may be asked of in place of a task's own.

        Args:
            own: the task's model.
            begun: of a call that was begun; None for the one of the settings.
        """
        known = self._candidates.get((own, begun))
        if known is None:
            known = self._candidates[own, begun] = self._found(own, begun)
        return known

    def _found(self, own: str, begun: str | None) -> Candidate:
        setting, tiers = self.settings.summary_model, self.settings.tiers
        wanted = named(setting if begun is None else begun, {} if begun else tiers, own)
        if wanted.model == own:
            return Candidate(own, wanted.why_own)
        # of a tier nobody has thought of this task's model: what may be too small is not tried
        return self._candidate(wanted.model, takes_unknown=begun is not None or not is_tier(setting, tiers))

    def named_for_summaries(self) -> Candidate | None:
        """The model that the settings name for all summaries by its id; None where they name a tier, or none."""
        setting = self.settings.summary_model
        return None if setting == OWN or is_tier(setting, self.settings.tiers) else self._candidate(setting)

    def _candidate(self, model: str, *, takes_unknown: bool = True) -> Candidate:
        facts = self.model_facts(model)
        window = facts.window_tokens if facts.known or takes_unknown else 0
        return Candidate(
            model,
            is_callable=self.can_call(model),
            is_priced=self.quote(model).known,
            window_tokens=self.settings.context_window_tokens or window,
            output_tokens=facts.output_tokens,
        )

    def sees(self, model: str) -> bool:
        """Whether a model gets images and documents."""
        return takes_images(self.settings.images, model, self.model_facts(model))

    def rules_for(self, working_dir: str | None) -> tuple[Rule, ...]:
        """The rules of the settings, of the person and of the project, as they are now.

        Args:
            working_dir: of the task.
        """
        kept = [source for source in (self.own_rules, self.project_rules) if source is not None]
        return (*self.rules, *(rule for source in kept for rule in source.of(working_dir)))
