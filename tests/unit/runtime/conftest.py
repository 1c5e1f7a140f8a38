"""A rig for each test, checked afterwards."""

from turnfixtures import make_rig

__all__ = ["make_rig"]
