"""A rig for each test, checked afterwards, and a host with a sandbox."""

from sandboxfixtures import host
from turnfixtures import make_rig

__all__ = ["host", "make_rig"]
