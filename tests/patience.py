"""How long tests wait for what must come."""

from __future__ import annotations

PATIENCE_S = 300.0
"""Longest wait for a condition, a process or a thread. It only keeps a broken test from hanging: a test passes as soon
as its condition holds, so a slow machine costs time and no failure. Below the time limit of a test (pyproject.toml)."""
