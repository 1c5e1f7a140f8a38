"""A host for each test."""

from sandboxfixtures import host

__all__ = ["host"]
