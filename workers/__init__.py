"""The Celery processes: `celery -A workers.app worker|beat`."""

OWNER = "neuraphage"
"""By this line `neuraphage.celery_app` tells our package from another one of this common name."""
