"""The sandbox: a command of a task changes only its working directory, and reads no secret of its user.

`choice.choose_sandbox` finds what this machine has; `view.py` says what a command sees, `bubblewrap.py` makes it so.
"""
