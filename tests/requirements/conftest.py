"""A rig for each scenario, checked afterwards."""

from storefixtures import valkey
from turnfixtures import make_rig

__all__ = ["make_rig", "valkey"]
