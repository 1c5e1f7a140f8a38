"""The protocol suites's fixtures."""

from storefixtures import kit, no_leaked_keys, real_kit, valkey

__all__ = ["kit", "no_leaked_keys", "real_kit", "valkey"]
