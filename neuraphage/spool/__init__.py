"""Commands that outlive the worker which started them.

`CommandSpool` (command_spool.py) is what workers use. Each command has a process of its own (runner.py, with
processes.py and records.py: standard library only) and a directory of its own (entry.py reads it).
"""

from neuraphage.spool.command_spool import CommandSpool

__all__ = ["CommandSpool"]
