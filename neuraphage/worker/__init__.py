"""The Celery processes: worker and beat, their tasks, signals, options and logs.

`workers/`, whose name people type (`celery -A workers.app worker|beat`), only hands on what is here.
"""
