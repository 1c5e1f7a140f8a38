"""Every seam as a Protocol. `runtime` sees the rooms only through these; `wiring` plugs the real parts in.

Tests plug recorders, crash injectors and fakes into the same places.
"""

from neuraphage.ports.effects import (
    Clock,
    Delta,
    Interrupt,
    ModelClient,
    Presence,
    Redaction,
    Spool,
    SpoolCommand,
    SpoolState,
    SpoolStatus,
    Tool,
    ToolBox,
    ToolContext,
)
from neuraphage.ports.files import WorkingFiles
from neuraphage.ports.foresight import ForeseesRefusal
from neuraphage.ports.health import HealthStore
from neuraphage.ports.people import (
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
from neuraphage.ports.reading import ReadStore
from neuraphage.ports.standby import HeldRow, Standby
from neuraphage.ports.sweeping import HeldTask, ProcessRow, Recovered, RecoverVerdict, SpoolWatch, SweepStore
from neuraphage.ports.turns import (
    Changes,
    Claimed,
    ClaimUnreadableError,
    ClaimVerdict,
    Committed,
    CommitVerdict,
    FinishTo,
    GoneOn,
    Lease,
    Renewal,
    Settled,
    SuspendTo,
    TurnStore,
)

__all__ = [
    "Changes",
    "ClaimUnreadableError",
    "ClaimVerdict",
    "Claimed",
    "Clock",
    "CommitVerdict",
    "Committed",
    "Delta",
    "Dispatcher",
    "FinishTo",
    "ForeseesRefusal",
    "GoneOn",
    "HealthStore",
    "HeldRow",
    "HeldTask",
    "Interrupt",
    "Lease",
    "ModelClient",
    "NextTurn",
    "Presence",
    "ProcessRow",
    "ReadStore",
    "RecoverVerdict",
    "Recovered",
    "Redaction",
    "Renewal",
    "Settled",
    "Signal",
    "SignalKind",
    "SignalVerdict",
    "Signalled",
    "Spool",
    "SpoolCommand",
    "SpoolState",
    "SpoolStatus",
    "SpoolWatch",
    "Standby",
    "SuspendTo",
    "SweepStore",
    "TaskStore",
    "Tool",
    "ToolBox",
    "ToolContext",
    "TurnDispatcher",
    "TurnStore",
    "Waker",
    "WorkingFiles",
]
