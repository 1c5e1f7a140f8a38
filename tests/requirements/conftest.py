"""A rig for each scenario, checked afterwards; runs without a guard."""

from runs_without import runs

from storefixtures import valkey
from turnfixtures import make_rig

__all__ = ["make_rig", "runs", "valkey"]
