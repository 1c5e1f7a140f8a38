"""The Celery processes: `celery -A workers.app worker|beat`."""
