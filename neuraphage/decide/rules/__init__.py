"""Rules about calls of tools: how they are written, which calls they are about, and what comes of a call. Pure."""
