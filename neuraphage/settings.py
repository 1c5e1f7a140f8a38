"""Settings: one frozen value, read from the layers of setting_sources.py, relations checked together.

`configuration.load` is how programs read them; it tells what is wrong in one line.
Times end in _s (seconds) or _ms, sizes in _bytes or _chars, money in _microusd.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, SecretStr, ValidationInfo, field_validator, model_validator

from neuraphage.decide.server_pair import beside, refuse_one_database
from neuraphage.decide.server_url import check_server_url
from neuraphage.errors import SettingsError
from neuraphage.setting_admission import AdmissionSettings
from neuraphage.setting_anomalies import AnomalySettings
from neuraphage.setting_context import ContextSettings
from neuraphage.setting_graph import GraphSettings
from neuraphage.setting_hooks import HookSettings
from neuraphage.setting_money import MoneySettings
from neuraphage.setting_provider import ProviderSettings
from neuraphage.setting_relations import clashes
from neuraphage.setting_sources import PREFIX, layers
from neuraphage.setting_values import (
    DEFAULT_TIERS,
    MAX_AMOUNT,
    STATE_TIMEOUT_S,
    AllowedHosts,
    BlockedHosts,
    CommandWords,
    LoopbackUrl,
    OneOrWord,
    PerMinute,
    RecoveryPolicy,
    RequestExtra,
    RuleLines,
    Seconds,
    SocketSeconds,
    Tiers,
    ToolReferences,
    usual_data_dir,
)


class Settings(
    AdmissionSettings, AnomalySettings, ContextSettings, GraphSettings, HookSettings, MoneySettings, ProviderSettings
):
    """All settings. Every limit of the product is here, named, with its unit last.

    pydantic-settings is not used: it doubles the time until a command begins, and the layers need checks of their own.

    Args:
        values: by the name of the setting; what is not given comes from the environment and the two files.

    Raises:
        SettingsError: a file or a variable is wrong as a whole. ValidationError: a value is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        environment, project, user = layers(type(self))
        super().__init__(**{**user(), **project(), **environment(), **values})

    # where things are
    state_url: SecretStr = SecretStr("redis://127.0.0.1:6379/1")
    """State server: redis://, rediss://, unix:// or sentinel://; a database apart from the broker's."""
    broker_url: SecretStr = SecretStr("redis://127.0.0.1:6379/0")
    """Celery's broker, in the same forms; where only one of the two is set, the other is beside it (databases 1, 0)."""
    namespace: str = Field(default="default", pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")
    """Prefix and hash tag of every key: the unit of scaling out."""
    data_dir: Path = Field(default_factory=usual_data_dir, validate_default=True)
    """Spool, embedded server, logs; ~ is the home folder."""

    # the lease protocol (architecture: heartbeat 5 s, lease 20 s, sweep 5 s)
    heartbeat_s: Seconds = 5.0
    """How often a process renews its leases."""
    lease_s: Seconds = 20.0
    """How long a lease holds without a renewal: a hung worker is replaced after it."""
    sweep_s: Seconds = 5.0
    """How often every place that a task can sit in is visited."""
    state_timeout_s: SocketSeconds | None = None
    """Longest wait for an answer of the state server; by default what fits twice into a lease, 5 s at most."""
    broker_timeout_s: SocketSeconds = 3.0
    """Longest wait for an answer of the broker, 3 at most: a path that drops everything in silence is left after it."""
    effect_max_s: Seconds = 3_600.0
    """Longest single effect; past it the heartbeat stops renewing and the process drains and exits."""
    watcher_interval_s: Seconds = 0.1
    """How often a host looks for dead processes."""
    absent_host_s: Seconds = 2.0
    """How long a process of another host must be absent before it counts as gone."""
    first_republish_s: Seconds = 5.0
    """First wait before a message that no worker took is sent again; doubles each time."""
    max_republish_s: Seconds = 60.0
    """Longest of these waits."""
    audit_keys: int = Field(default=1_000, ge=0, le=1_000_000)
    """Keys that each sweep holds against the records, a part of all at a time; 0 for none."""
    audit_doctor_s: Seconds = 5.0
    """How long `doctor` looks through the tasks at most."""
    wait_poll_s: Seconds = 60.0
    """Fallback poll of a task that waits for a lock or a child."""

    # recovery
    recovery_policy: RecoveryPolicy = RecoveryPolicy.AUTO
    """What happens to a task whose process is gone: auto goes on, confirm pauses it, off looks for none."""
    max_recoveries: int = Field(default=3, ge=0, le=MAX_AMOUNT)
    """Recoveries without a new outcome commit before a task counts as poison."""
    max_stalls: int = Field(default=10, ge=1, le=MAX_AMOUNT)
    """Leases run out under a living process (frozen, hung, cut off) without a new outcome before a task is given up."""
    saved_max_age_s: Seconds = 86_400.0
    """An orphan whose last commit is older is failed, not resumed."""

    # the model
    anthropic_base_url: str | None = None
    """Where the model's API is, when it is not the provider's own address."""
    openai_base_url: str | None = None
    """Where models of the form openai:NAME are, as http://127.0.0.1:8080/v1; see docs/models.md."""
    openai_api_key: SecretStr | None = None
    """What that server is sent as a key; from the environment alone, and many local servers want none."""
    default_model: str = "claude-sonnet-5-5"
    """Model of a task that names none: an id, or the name of a tier."""
    tiers: Tiers = DEFAULT_TIERS
    """Names for models, each with ids: the first is called, the others when it is refused; cheap, worker, expert."""
    request_extra: RequestExtra = Field(default_factory=dict)
    """Further fields of each request to the model of a new task, as {"temperature": 0.2}; see docs/models.md."""
    max_tokens: int = Field(default=16_384, ge=1, le=MAX_AMOUNT)
    """Longest reply, in tokens."""
    connect_timeout_s: SocketSeconds = 10.0
    """Longest wait for a connection to the model's API."""
    read_timeout_s: SocketSeconds = 60.0
    """Longest silence inside a stream."""
    call_timeout_s: SocketSeconds = 900.0
    """Longest whole call."""
    max_continues: int = Field(default=10, ge=0, le=MAX_AMOUNT)
    """Consecutive turns that ended by max_tokens or pause_turn, with or without calls."""
    escalate_after: int = Field(default=0, ge=0, le=MAX_AMOUNT)
    """Failed turns in a row after which a task is given the next tier: cheap, worker, expert. 0 for never."""
    max_empty_replies: int = Field(default=3, ge=0, le=MAX_AMOUNT)
    """Consecutive replies without words and calls after which the model is asked again; the next one fails the task."""

    # turns
    turns_per_message: Annotated[Literal[1, "auto"], OneOrWord] = 1
    """Turns of a task in one Celery message: 1, or auto: the next ones too, while no other message waits."""

    # tools
    tools: ToolReferences = ()
    """Tools of one's own, each as package.module:object; workers import them. Installed packages announce theirs."""

    rules: RuleLines = ()
    """Which calls of tools run, are asked about or never run, as `deny run_command: git push *`; see docs/rules.md."""

    task_writes_per_minute: PerMinute = 60
    """Writes of files that a task begins within a minute; the next one waits. "none" for as many as it likes."""
    task_commands_per_minute: PerMinute = 60
    """Commands that a task begins within a minute, likewise."""

    # commands
    sandbox: Literal["auto", "require", "off"] = "auto"
    """Whether commands run in a sandbox: auto where there is one, require to start no worker without, off."""
    auto_allow_sandboxed: bool = False
    """Whether command lines that run in a sandbox without a network run without asking."""
    command_memory_bytes: int = Field(default=8 * 1024**3, ge=64 * 1024**2, le=MAX_AMOUNT)
    """Most data of one process of a command in a sandbox."""
    command_processes: int = Field(default=4_096, ge=16, le=MAX_AMOUNT)
    """Most processes and threads of a command in a sandbox."""
    command_file_bytes: int = Field(default=10 * 1024**3, ge=1024**2, le=MAX_AMOUNT)
    """Largest file that a command in a sandbox may write."""
    allow_hosts: AllowedHosts = ()
    """Hosts that commands in a sandbox may reach, as `pypi.org` or `*.pythonhosted.org:443`; see docs/sandbox.md."""
    ask_refused_hosts: Literal["on", "listed", "off"] = "listed"
    """Ask a person about hosts that a command was refused: always, only where allow_hosts lists some, or never."""
    blocked_hosts: BlockedHosts = ()
    """Hosts that no command may reach or name, whatever allow_hosts lists, as `example.org` or `*.example.org`."""

    # people
    permission_timeout_s: Seconds | Literal["none"] = 300.0
    """How long a permission waits for an answer before the call is denied; "none" for ever. Questions wait for ever."""
    prompt_command: CommandWords = ()
    """A command, as a list of words, that a worker runs when a prompt opens; see docs/prompts.md."""
    prompt_url: LoopbackUrl | None = None
    """A http address of this machine, to which a worker posts the same."""
    prompt_wait_s: Seconds | None = None
    """Tell again of a prompt that has been open for so long; by default not."""
    prompt_signal: bool = True
    """Whether title and bell of the terminal say in run, attach and inbox that a prompt waits."""

    # limits
    max_turns: int = Field(default=50, ge=0, le=MAX_AMOUNT)
    """Turns of a task that sets no limit of its own."""
    max_cost_microusd: int = Field(default=10_000_000, ge=0, le=MAX_AMOUNT)
    """Cost of a task that sets no limit of its own, in millionths of a dollar."""
    max_entry_bytes: int = Field(default=1_000_000, gt=0, le=MAX_AMOUNT)
    """Largest conversation entry; bigger ones are refused with a clear failure."""
    max_inbox_items: int = Field(default=1_000, gt=0, le=MAX_AMOUNT)
    """Messages and answers that wait for a turn, a task."""
    max_prompt_chars: int = Field(default=1_000_000, gt=0, le=MAX_AMOUNT)
    """Longest prompt or message of a person."""
    events_max: int = Field(default=10_000, gt=0, le=MAX_AMOUNT)
    """History lines kept a task (about)."""
    namespace_events_max: int = Field(default=100_000, gt=0, le=MAX_AMOUNT)
    """Events of all tasks together that `neuraphage events` and `follow` can go back to (about)."""
    live_max: int = Field(default=1_000, gt=0, le=MAX_AMOUNT)
    """Pieces of a streaming reply kept for who watches."""
    live_ttl_s: Seconds = 60.0
    """How long they are kept."""
    spool_max_bytes: int = Field(default=64 * 1024 * 1024, gt=0, le=MAX_AMOUNT)
    """Largest output of one command; past it the command is ended."""

    admission_memory_percent: float = Field(default=80.0, gt=0, le=100)
    """Fuller than this share of its maxmemory, the state server takes no new tasks: those under way need the rest."""

    # what lies on the disk of this host
    spool_quota_bytes: int = Field(default=4 * 1024**3, gt=0, le=MAX_AMOUNT)
    """Over it no new command starts; the output of ended ones goes after exec_retention_s."""
    data_quota_bytes: int = Field(default=20 * 1024**3, gt=0, le=MAX_AMOUNT)
    """Over it `where`, `health` and `doctor` warn; nothing stops."""
    min_free_bytes: int = Field(default=1024**3, ge=0, le=MAX_AMOUNT)
    """Less free space where the data folder lies is a finding of `doctor`."""

    # logs
    log_format: Literal["text", "json"] = "text"
    """One line a record, either way."""
    log_max_bytes: int = Field(default=10_000_000, ge=100_000, le=MAX_AMOUNT)
    """A log file larger than this is set aside."""
    log_files: int = Field(default=3, ge=1, le=100)
    """How many set aside files of one log are kept."""

    # how long ended tasks are kept
    exec_retention_s: Seconds = 86_400.0
    """How long the journal, unread messages and command output of an ended task are kept."""
    conversation_retention_s: Seconds = 30 * 86_400.0
    """How long the record, conversation and history of an ended task are kept."""
    tombstone_retention_s: Seconds = 365 * 86_400.0
    """How long the id of a deleted task is remembered."""

    @property
    def names_servers(self) -> bool:
        """Whether somebody said where a server is; else it is that of the local stack."""
        return bool({"state_url", "broker_url"} & self.model_fields_set)

    @property
    def state_wait_s(self) -> float:
        """`state_timeout_s`, or what follows from the lease when nobody has set it."""
        derived_s = min(STATE_TIMEOUT_S, max(1.0, (self.lease_s - self.heartbeat_s) / 2))
        return derived_s if self.state_timeout_s is None else self.state_timeout_s

    @field_validator("state_url", "broker_url")
    @classmethod
    def _server_url(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        """A URL that names a server; else the setting that is wrong is told, not one that is derived from it."""
        try:
            check_server_url(value.get_secret_value(), of_broker=info.field_name == "broker_url")
        except SettingsError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("data_dir", mode="before")
    @classmethod
    def _whole_path(cls, value: Any) -> Any:
        """An absolute path, so that it means one folder in every process, wherever that works."""
        if not isinstance(value, str | Path):
            return value
        if not str(value) or "\0" in str(value):
            raise ValueError("a path is wanted, and this is none")
        try:
            path = Path(value).expanduser().absolute()
            str(path).encode("utf-8")
        except RuntimeError as error:
            raise ValueError(f"{value}: {error}; name a folder by {PREFIX}DATA_DIR") from None
        except UnicodeEncodeError:  # URLs and files of settings hold it
            raise ValueError(f"a path of UTF-8 text is wanted, and this is none: {str(path)!a}") from None
        return path

    @model_validator(mode="after")
    def _both_servers(self) -> Self:
        """Where one server is named, both are: every process must find the same two databases."""
        named = {"state_url", "broker_url"} & self.model_fields_set
        try:
            if named == {"state_url"}:  # a derived one stays one that nobody has set
                self.__dict__["broker_url"] = SecretStr(beside(self.state_url.get_secret_value(), broker=True))
            elif named == {"broker_url"}:
                self.__dict__["state_url"] = SecretStr(beside(self.broker_url.get_secret_value(), broker=False))
            refuse_one_database(self.state_url.get_secret_value(), self.broker_url.get_secret_value())
        except SettingsError as error:
            raise ValueError(str(error)) from None
        return self

    @model_validator(mode="after")
    def _relations(self) -> Self:
        found = clashes(self)
        if found:
            raise ValueError("; ".join(found))
        return self
