"""Floor 4: the turn and everything that runs around it. It sees the rooms only as ports."""
