"""Shared fixtures. Servers are real processes unless a fixture says fakeredis."""
