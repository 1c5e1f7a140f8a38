"""Floor 1: decisions. Pure functions over values; time, ids and randomness come in as arguments."""
