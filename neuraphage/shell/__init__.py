"""Reads shell command lines with shfmt, which comes with the package `shfmt-py`; runs none of them."""

from neuraphage.shell.reader import ShfmtReader

__all__ = ["ShfmtReader"]
