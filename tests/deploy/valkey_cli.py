"""A stand-in for valkey-cli, which no Python package brings: what the deployment's files and RUNBOOK.md use of it.

It speaks to the real server: a command and its raw answer, or `--rdb FILE`, a snapshot by the protocol of replicas.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import redis


def main(argv: list[str]) -> int:
    """The password comes from REDISCLI_AUTH, as with the real one."""
    if argv[:1] == ["--rdb"]:
        Path(argv[1]).write_bytes(snapshot())
        return 0
    database = int(argv.pop(1)) if argv[:1] == ["-n"] else 0
    if database:
        argv.pop(0)
    try:
        client = redis.Redis(port=port(), db=database, password=password(), single_connection_client=True, protocol=2)
        client.response_callbacks.clear()
        answer: Any = client.execute_command(*argv)
    except (redis.exceptions.ResponseError, redis.exceptions.AuthenticationError) as error:
        answer = str(error)
    except redis.exceptions.ConnectionError as error:
        sys.stderr.write(f"Could not connect to Valkey: {error}\n")
        return 1
    sys.stdout.write(raw(answer) + "\n")
    return 0


def snapshot() -> bytes:
    """The dataset as one file, as the server gives it to a replica."""
    with socket.create_connection(("127.0.0.1", port()), timeout=30) as connection, connection.makefile("rb") as reply:
        if password():
            connection.sendall(f"AUTH {password()}\r\n".encode())
            assert reply.readline() == b"+OK\r\n"
        connection.sendall(b"SYNC\r\n")
        while not (head := reply.readline()).strip():
            assert head, "the server has ended the connection"
        assert head.startswith(b"$"), head
        if head.startswith(b"$EOF:"):
            mark, content = head[5:].strip(), b""
            while not content.endswith(mark):
                content += reply.read1(65_536)
            return content.removesuffix(mark)
        return reply.read(int(head[1:]))


def raw(answer: Any) -> str:
    """An answer as valkey-cli prints it when nobody watches."""
    if isinstance(answer, dict):
        return "\n".join(f"{raw(name)}\n{raw(value)}" for name, value in answer.items())
    if isinstance(answer, list | tuple):
        return "\n".join(raw(one) for one in answer)
    if isinstance(answer, bool):
        return "OK" if answer else "ERR"
    return answer.decode(errors="replace") if isinstance(answer, bytes) else str(answer)


def port() -> int:
    return int(os.environ["VALKEY_PORT"])


def password() -> str:
    return os.environ.get("REDISCLI_AUTH", "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
