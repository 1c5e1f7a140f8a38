"""Floor 4: turns, heartbeats, sweep and watcher. Sees the rooms only through ports."""
