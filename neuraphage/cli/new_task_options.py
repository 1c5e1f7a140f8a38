"""What `run` gives a new task by options, beside its prompt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuraphage.api import Api
from neuraphage.api.checking import attached, require_narrow
from neuraphage.cli.allowing import allowed_by
from neuraphage.cli.arguments import dependencies_of, existing_dir, given_extra, labels_of, timeout_s
from neuraphage.cli.new_task import check_limits, tell_first
from neuraphage.errors import BadInput
from neuraphage.local_files import LocalFiles
from neuraphage.model.task import Mode
from neuraphage.settings import Settings


@dataclass(frozen=True)
class NewTask:
    """What a new task is given by options, beside its prompt."""

    directory: Path | None
    model: str | None
    allow: list[str] | None
    auto_allow_sandboxed: bool
    max_turns: int | None
    max_cost: float | None
    mode: Mode | None
    permission_timeout: str | None
    force: bool
    extra: str | None
    attach: list[Path] | None
    label: list[str] | None
    after: list[str] | None
    max_tree_turns: int | None

    def check_one_that_goes_on(self, settings: Settings) -> None:
        """A task that is resumed keeps what it was given; it may be shown more.

        Raises:
            BadInput: an option is for a new task only, what is attached cannot be, or a limit lets it not go on.
        """
        options = {
            "--dir": self.directory,
            "--model": self.model,
            "--allow": self.allow,
            "--auto-allow-sandboxed": self.auto_allow_sandboxed or None,
            "--mode": self.mode,
            "--permission-timeout": self.permission_timeout,
            "--extra": self.extra,
            "--label": self.label,
            "--after": self.after,
            "--max-tree-turns": self.max_tree_turns,
        }
        given = [name for name, value in options.items() if value not in (None, [])]
        if given:
            raise BadInput(f"{' and '.join(given)} is for a new task; one that goes on keeps what it was given")
        attached(settings, self.attach or ())
        check_limits(self.max_turns, self.max_cost)

    def check(self, settings: Settings) -> None:
        """Refuse what no task can be made of.

        Raises:
            BadInput: the directory is none or too wide, or a time is none.
        """
        timeout_s(self.permission_timeout)
        given_extra(self.extra)
        labels_of(self.label)
        dependencies_of(self.after)
        attached(settings, self.attach or ())
        if not self.force:
            require_narrow(LocalFiles(), self._working_dir, settings.data_dir)

    def submit(self, api: Api, text: str) -> str:
        """Submit it; returns the id of the task."""
        tell_first(api, self.model, self.attach)
        return api.submit(
            text,
            working_dir=self._working_dir,
            allow=allowed_by(self.allow, sandboxed=self.auto_allow_sandboxed),
            model=self.model,
            max_turns=self.max_turns,
            max_cost_usd=self.max_cost,
            max_tree_turns=self.max_tree_turns,
            mode=self.mode or Mode.AUTONOMOUS,
            permission_timeout_s=timeout_s(self.permission_timeout),
            labels=labels_of(self.label),
            force=self.force,
            followed=True,
            extra=given_extra(self.extra),
            attachments=self.attach or (),
            blocked_by=dependencies_of(self.after),
        )

    @property
    def _working_dir(self) -> str:
        return existing_dir(self.directory or Path())
