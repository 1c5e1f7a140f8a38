"""The name of an API key: workers that share a key share its limits, and nobody is to learn the key from its name."""

from __future__ import annotations

import hashlib

_DIGEST_BYTES = 6
"""Enough to tell the keys of one namespace apart, and far too little to tell a key."""


def key_pool_name(key: str, namespace: str) -> str:
    """A short name of a key, other in each namespace.

    Args:
        key: the credential.
        namespace: the salt.
    """
    salted = hashlib.blake2b(key.encode(), key=namespace.encode(), person=b"np-key-pool", digest_size=_DIGEST_BYTES)
    return salted.hexdigest()
