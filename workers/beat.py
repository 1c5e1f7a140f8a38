"""Beat's schedule; `neuraphage.worker.beat` has it."""

from neuraphage.worker.beat import Scheduler

__all__ = ["Scheduler"]
