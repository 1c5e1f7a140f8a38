"""All guards that are taken away one by one."""

from __future__ import annotations

import guards
from anomaly_guards import ANOMALY_GUARDS
from child_guards import CHILD_GUARDS
from context_guards import CONTEXT_GUARDS
from gate_guards import GATE_GUARDS
from graph_guards import GRAPH_GUARDS
from limit_guards import LIMIT_GUARDS
from lock_guards import LOCK_GUARDS
from people_guards import PEOPLE_GUARDS
from public_guards import PUBLIC_GUARDS
from relay_guards import RELAY_GUARDS
from sandbox_guards import SANDBOX_GUARDS

GUARDS = (
    *guards.GUARDS,
    *PEOPLE_GUARDS,
    *SANDBOX_GUARDS,
    *CONTEXT_GUARDS,
    *GATE_GUARDS,
    *GRAPH_GUARDS,
    *CHILD_GUARDS,
    *ANOMALY_GUARDS,
    *LIMIT_GUARDS,
    *LOCK_GUARDS,
    *PUBLIC_GUARDS,
    *RELAY_GUARDS,
)
