"""What a turn works with: every port, built once a process by `wiring` and handed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from neuraphage.decide.rules.reading import rules_in
from neuraphage.model.rule import Rule
from neuraphage.model.tool import ToolDeclaration
from neuraphage.model.usage import PriceQuote
from neuraphage.ports import (
    Clock,
    ModelClient,
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
    declarations: dict[str, ToolDeclaration] = field(default_factory=dict)
    rules: tuple[Rule, ...] = field(init=False)

    def __post_init__(self) -> None:
        chosen = self.settings
        sandboxed, blocked = chosen.auto_allow_sandboxed, chosen.blocked_hosts
        rules = rules_in(chosen.rules, allow_sandboxed=sandboxed, blocked_hosts=blocked)  # read once: the settings stay
        object.__setattr__(self, "rules", rules)
        self.declarations.update({d.name: d for d in self.tools.declarations()})

    def rules_for(self, working_dir: str | None) -> tuple[Rule, ...]:
        """The rules of the settings, of the person and of the project, as they are now.

        Args:
            working_dir: of the task.
        """
        kept = [source for source in (self.own_rules, self.project_rules) if source is not None]
        return (*self.rules, *(rule for source in kept for rule in source.of(working_dir)))
