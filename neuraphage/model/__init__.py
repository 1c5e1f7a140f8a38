"""Floor 0: the nouns. Frozen pydantic values; no clock, no randomness, no I/O."""
