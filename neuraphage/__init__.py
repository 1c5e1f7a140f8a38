"""neuraphage: a runtime for LLM agent tasks that survive any crash, on Celery and Redis."""

__version__ = "0.1.0"
