"""The Celery tasks; `neuraphage.worker.tasks` has them."""

from neuraphage.worker.tasks import checkpoint_task, recovery_report, resume_task, run_turn, start_task, sweep

__all__ = ["checkpoint_task", "recovery_report", "resume_task", "run_turn", "start_task", "sweep"]
