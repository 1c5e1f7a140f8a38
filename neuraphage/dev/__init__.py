"""Floor 4: the local stack: the embedded server, its supervisor, and the processes of one machine."""
