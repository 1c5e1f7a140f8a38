"""Processes that neuraphage starts: their sessions, their groups, and what they get of our environment; and what code
of others may do to the process that it runs in.

Seven programs start without the package, since importing it takes longer than they may: `dev/tether.py`,
`spool/runner.py` with its neighbours, `standby/program.py`, `tools/search_child.py`, `sandbox/bridge.py`,
`sandbox/landlock_exec.py` and `testing/command_guard.py`.
They load their neighbours, and `kernel_ties.py` of this folder, by path.
"""
