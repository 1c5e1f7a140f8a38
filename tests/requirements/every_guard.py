"""All guards that are taken away one by one."""

from __future__ import annotations

import guards
from sandbox_guards import SANDBOX_GUARDS

GUARDS = (*guards.GUARDS, *SANDBOX_GUARDS)
