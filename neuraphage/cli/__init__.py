"""Floor 5: the command line. Thin: every command calls the client or the local stack."""
