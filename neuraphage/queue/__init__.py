"""Celery: the app and its configuration; and the publishing of turns, which needs neither Celery nor kombu.

Nothing is imported here: a command that publishes is not to wait for Celery.
"""
