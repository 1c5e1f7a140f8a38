"""`run`: a task from its prompt to its end in one terminal, on a stack that runs or one that is started for it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from neuraphage.api import Api
from neuraphage.cli.allowing import Allow, AutoAllowSandboxed, hint_at_misspelt
from neuraphage.cli.answer_command import Seen
from neuraphage.cli.arguments import (
    After,
    AsJson,
    Attach,
    BaseUrl,
    Extra,
    Force,
    Hooks,
    Labels,
    MaxCost,
    MaxTurns,
    Model,
    PermissionTimeout,
    Prices,
    TaskMode,
    Tools,
    TreeTurns,
)
from neuraphage.cli.completion import task_ids
from neuraphage.cli.connection import connect, load_settings
from neuraphage.cli.console import console, short_id
from neuraphage.cli.exit_codes import INTERRUPTED_EXIT, exit_code
from neuraphage.cli.follow import Scene, WorkerHint, follow, left_talking, scene, tell_end
from neuraphage.cli.interrupts import Interrupts
from neuraphage.cli.json_lines import JsonLines
from neuraphage.cli.local_stack import LocalStack
from neuraphage.cli.new_task import check_new_task
from neuraphage.cli.new_task_options import NewTask
from neuraphage.cli.resuming import NextCommands, ResumeInput, resumed
from neuraphage.cli.task_view import TaskView
from neuraphage.cli.text_input import TextFile, given_text
from neuraphage.cli.viewer import Viewer
from neuraphage.errors import BadInput, IllegalMove, SettingsError, StoreError, StoreUnavailable
from neuraphage.model.sandbox import SandboxKind
from neuraphage.model.task import TERMINAL, TaskRecord
from neuraphage.project_standing import standing_of
from neuraphage.settings import Settings
from neuraphage.tool_wiring import found_sandbox
from neuraphage.trusted_projects import trust_file

Resume = Annotated[
    str | None,
    typer.Option(
        help="Go on with this task in place of a new one; with higher limits if it has reached one.",
        autocompletion=task_ids,
    ),
]
Script = Annotated[
    str | None, typer.Option(help="Play this script (module:attribute) instead of calling the real model.")
]
PromptText = Annotated[
    str | None,
    typer.Argument(help="What to do (- reads it from standard input); with --resume, a message to that task."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog='Example: neuraphage run "make the failing tests pass" --dir ./my-project')(run)


def run(  # noqa: PLR0913, PLR0917 - every option of a task; typer passes them by name
    prompt: PromptText = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Directory that the tools work in; the present one if not given.")
    ] = None,
    model: Model = None,
    extra: Extra = None,
    allow: Allow = None,
    auto_allow_sandboxed: AutoAllowSandboxed = False,
    max_turns: MaxTurns = None,
    max_cost: MaxCost = None,
    max_tree_turns: TreeTurns = None,
    mode: TaskMode = None,
    permission_timeout: PermissionTimeout = None,
    label: Labels = None,
    resume: Resume = None,
    answer: Annotated[str | None, typer.Option(help="With --resume: answer what it asks.")] = None,
    to: Annotated[list[str] | None, typer.Option("--prompt", help="With --answer: the prompts that it is for.")] = None,
    seen: Seen = False,
    file: TextFile = None,
    attach: Attach = None,
    after: After = None,
    script: Script = None,
    tools: Tools = None,  # noqa: ARG001 - noted as a setting
    hooks: Hooks = None,  # noqa: ARG001 - noted as a setting
    base_url: BaseUrl = None,  # noqa: ARG001 - noted as a setting
    price: Prices = None,  # noqa: ARG001 - noted as a setting
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Run a task and show it as it goes.

    Uses the stack that runs, or starts one for as long as it is used. Every tool with side effects asks first,
    unless it is allowed. The first Ctrl-C pauses the task after the step in hand, the second leaves at once.

    Exit status: 0 completed or a conversation left, 1 failed, 2 wrong call, 3 waits for you and this is no terminal,
    130 interrupted.
    """
    has_text = prompt is not None or file is not None
    _refuse_at_odds(has_text, resume, answer, script, is_precise=bool(to or seen), attaches=bool(attach))
    new = NewTask(
        directory, model, allow, auto_allow_sandboxed, max_turns, max_cost, mode, permission_timeout, force, extra,
        attach, label, after, max_tree_turns,
    )  # fmt: skip
    settings = load_settings()
    if resume is not None:
        new.check_one_that_goes_on(settings)
    text = given_text("the prompt", prompt, file) if has_text else None
    if resume is None:
        check_new_task(text or "", model=model, max_turns=max_turns, max_cost=max_cost, script=script)
        new.check(settings)  # before a stack is started
    hint_at_misspelt(allow or ())
    waiting = Viewer(console(stderr=as_json))
    called = (model or settings.default_model) if resume is None else None
    with contextlib.ExitStack() as at_end:
        at_end.callback(waiting.end_text)
        stack = at_end.enter_context(LocalStack(settings, script, waiting.status, model=called))
        waiting.end_text()
        with connect() as api, Interrupts() as interrupts:
            if resume is not None:
                given = ResumeInput(text, answer, max_turns, max_cost, tuple(to or ()), seen, tuple(attach or ()))
                task_id, seen_until = resumed(api, resume, given)
            else:
                task_id, seen_until = new.submit(api, text or ""), "0"
            _tell_of_safety(settings, api.get(task_id).spec.working_dir, waiting)
            commands = NextCommands(task_id, stack.started, script)
            code = _Run(api, task_id, commands, interrupts, as_json=as_json).to_its_end(seen_until)
    raise typer.Exit(code)


def _tell_of_safety(settings: Settings, directory: str | None, view: Viewer) -> None:
    """What holds the task back less than a person may think."""
    _tell_unconfined(settings, view)
    _tell_project_rules(directory, view)


def _tell_unconfined(settings: Settings, view: Viewer) -> None:
    """That commands of tasks run without a sandbox here, where somebody did not choose so."""
    if settings.sandbox == "auto" and not settings.names_servers:
        kind, why = found_sandbox(settings)
        if kind is SandboxKind.NONE:
            view.line(f"commands run without a sandbox: {why}", "yellow")


def _tell_project_rules(directory: str | None, view: Viewer) -> None:
    """Which rules of the task's directory are not used, and why."""
    if directory is None:
        return
    try:
        told = standing_of(directory, trust_file()).told()
    except SettingsError as error:  # of the person's own file; the task is there already
        told = [str(error)]
    for text in told:
        view.line(text, "yellow")


def _refuse_at_odds(
    has_text: bool, resume: str | None, answer: str | None, script: str | None, *, is_precise: bool, attaches: bool
) -> None:
    if script is not None and not all(script.partition(":")):
        raise BadInput(f"--script {script}: write module:attribute")
    if not has_text and resume is None:
        raise BadInput("give what to do, or --resume with a task that is to go on")
    if answer is not None and resume is None:
        raise BadInput("--answer goes with --resume: it answers what that task asks")
    if attaches and not has_text:
        raise BadInput("--attach goes with words: give a message that says what to do with it")
    if is_precise and answer is None:
        raise BadInput("--prompt and --seen go with --answer")


class _Run:
    """One task, followed until it rests or the person leaves.

    Args:
        api: to the stack.
        task_id: full id.
        commands: command lines that go on with it.
        interrupts: Ctrl-C.
        as_json: whether a program reads.
    """

    def __init__(
        self, api: Api, task_id: str, commands: NextCommands, interrupts: Interrupts, *, as_json: bool
    ) -> None:
        self._api = api
        self._task_id = task_id
        self._next = commands
        self._interrupts = interrupts
        self._shown: Scene = scene(api, task_id, as_json=as_json, reached=commands.text)
        self._pausing = False
        self._hint = WorkerHint(self._shown.show)

    def to_its_end(self, after: str) -> int:
        """Follow it; returns the exit code."""
        show = self._shown.show
        if isinstance(show, JsonLines):
            show.begin(self._task_id)
        show.line(f"task {short_id(self._task_id)}", "bold")
        if after != "0":
            self._shown.transcript.skip()
        try:
            record = follow(self._api, self._task_id, self._shown, after=after, on_round=self._round)
        except KeyboardInterrupt:
            show.line("left; the task stops after the step in hand", "yellow")
            show.line(f"  go on with: {self._next.resume()}", "dim")
            raise typer.Exit(INTERRUPTED_EXIT) from None
        except (StoreUnavailable, StoreError):
            show.line("the view is lost, the task is not", "yellow")
            show.line(f"  go on with: {self._next.resume()}", "dim")
            raise
        tell_end(self._shown, record, self._next.lines)
        if self._pausing and record.status not in TERMINAL:
            return INTERRUPTED_EXIT
        return 0 if left_talking(self._shown, record) else exit_code(record.status)

    def _round(self, record: TaskRecord) -> None:
        if self._interrupts.count and not self._pausing:
            self._pause()
        self._hint.look(record)

    def _pause(self) -> None:
        self._pausing = True
        with contextlib.suppress(IllegalMove):  # it is over, or paused already
            self._api.pause(self._task_id)
        if self._shown.viewer is not None:
            self._shown.viewer.interrupted()
        self._shown.show.line("pausing after the step in hand; Ctrl-C again leaves at once", "yellow")
        self._shown.show.line(f"  go on with: {self._next.resume()}", "dim")
        if isinstance(self._shown.show, TaskView):
            self._shown.show.note = "pausing: waits for the step in hand"
