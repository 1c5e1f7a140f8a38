"""Every seam as a Protocol. `runtime` sees the rooms only through these; `wiring` plugs the real parts in.

Tests plug recorders, crash injectors and fakes into the same places.
"""

from neuraphage.ports.capacity import CapacityStore
from neuraphage.ports.child_changes import ChildChanges
from neuraphage.ports.detached import CommandCgroup, Detached, DetachedStatus, Spool, SpoolCommand, SpoolStatus
from neuraphage.ports.effects import (
    Clock,
    CountsTokens,
    Delta,
    DetachableInterrupt,
    Interrupt,
    ModelClient,
    Presence,
    Redaction,
)
from neuraphage.ports.files import TurnFiles, WorkingFiles
from neuraphage.ports.health import HealthStore
from neuraphage.ports.hooks import Guards, NoGuards, Observers, ObserverStore
from neuraphage.ports.installed import LoadedTool, LoadedTools, ToolProblem
from neuraphage.ports.lock_request import LockRequest
from neuraphage.ports.model_change import ModelChange
from neuraphage.ports.notices import NoNotices, NoticeMark, NoticeStore, PromptNotices
from neuraphage.ports.people import (
    Created,
    Dispatcher,
    NextTurn,
    Signal,
    SignalKind,
    Signalled,
    SignalVerdict,
    TaskStore,
    TurnDispatcher,
    Waker,
)
from neuraphage.ports.reads import ReadStore
from neuraphage.ports.relay import NoRelay, Relay
from neuraphage.ports.repairing import StoredForm
from neuraphage.ports.rules import AddRule, OwnRules
from neuraphage.ports.sandbox import Sandbox
from neuraphage.ports.scheduling import DueSchedule, ScheduleStore
from neuraphage.ports.shell import ShellReader
from neuraphage.ports.standby import HeldRow, Standby
from neuraphage.ports.sweeping import HeldTask, ProcessRow, Recovered, RecoverVerdict, SpoolWatch, SweepStore
from neuraphage.ports.tools import Accompanies, DetachedTool, ForeseesRefusal, Tool, ToolBox, ToolContext
from neuraphage.ports.turn_ends import FinishTo, SuspendTo
from neuraphage.ports.turns import (
    Changes,
    Claimed,
    ClaimUnreadableError,
    ClaimVerdict,
    Committed,
    CommitVerdict,
    GoneOn,
    Lease,
    Renewal,
    Settled,
    TurnStore,
)

__all__ = [
    "Accompanies",
    "AddRule",
    "CapacityStore",
    "Changes",
    "ChildChanges",
    "ClaimUnreadableError",
    "ClaimVerdict",
    "Claimed",
    "Clock",
    "CommandCgroup",
    "CommitVerdict",
    "Committed",
    "CountsTokens",
    "Created",
    "Delta",
    "DetachableInterrupt",
    "Detached",
    "DetachedStatus",
    "DetachedTool",
    "Dispatcher",
    "DueSchedule",
    "FinishTo",
    "ForeseesRefusal",
    "GoneOn",
    "Guards",
    "HealthStore",
    "HeldRow",
    "HeldTask",
    "Interrupt",
    "Lease",
    "LoadedTool",
    "LoadedTools",
    "LockRequest",
    "ModelChange",
    "ModelClient",
    "NextTurn",
    "NoGuards",
    "NoNotices",
    "NoRelay",
    "NoticeMark",
    "NoticeStore",
    "ObserverStore",
    "Observers",
    "OwnRules",
    "Presence",
    "ProcessRow",
    "PromptNotices",
    "ReadStore",
    "RecoverVerdict",
    "Recovered",
    "Redaction",
    "Relay",
    "Renewal",
    "Sandbox",
    "ScheduleStore",
    "Settled",
    "ShellReader",
    "Signal",
    "SignalKind",
    "SignalVerdict",
    "Signalled",
    "Spool",
    "SpoolCommand",
    "SpoolStatus",
    "SpoolWatch",
    "Standby",
    "StoredForm",
    "SuspendTo",
    "SweepStore",
    "TaskStore",
    "Tool",
    "ToolBox",
    "ToolContext",
    "ToolProblem",
    "TurnDispatcher",
    "TurnFiles",
    "TurnStore",
    "Waker",
    "WorkingFiles",
]
