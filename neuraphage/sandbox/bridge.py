"""The program that brings the proxy's socket into a sandbox with a network of its own, and then becomes the command.

Started as `python -I -S bridge.py SOCKET PORT -- argv...` inside the sandbox. It listens on 127.0.0.1:PORT, leaves a
process behind that carries each connection to the unix socket, and becomes the command: so its status and its signals
are the command's own, and a connection that it makes at once is taken.

The process that is left is no child of the command, which may wait for all of its own. It has a session of its own and
nothing of the command's files, and ends when the command has: what the command left in the background has no network
any more (bubblewrap ends that with it, too).

Standard library only, and little of it before the command: each import delays it.
"""

from __future__ import annotations

import _socket
import os
import sys

TYPE_CHECKING = False  # type checkers know this name; importing typing would double the start
if TYPE_CHECKING:
    import socket
    from typing import NoReturn

    from neuraphage.sandbox import becoming
else:
    # run by path, outside the package: importing the package would load the whole library
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib doubles the start
    import becoming

ADDRESS = "127.0.0.1"
CONNECTIONS = 128
"""At one time; further ones are closed at once."""
_BACKLOG = 128
_PIECE_BYTES = 65_536
_STACK_BYTES = 262_144
_FILES = 65_536
"""More than a process that has just begun has open."""
_LOOK_MS = 200
"""How often it is looked whether the command lives, on a kernel that does not tell."""
_GONE = (
    b"HTTP/1.1 502 neuraphage: the proxy to the allowed hosts is gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


def main() -> NoReturn:
    """Listen, leave the process that carries connections, become the command."""
    step = "understand its arguments"
    try:
        path, port, _, *argv = sys.argv[1:]
        step = f"listen at {ADDRESS}:{port}"
        listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, int(port)))
        listener.listen(_BACKLOG)
        step = "start the bridge to the proxy"
        leave_behind(listener.fileno(), path)
        listener.close()
    except (OSError, ValueError) as error:
        becoming.end(step, error)
    becoming.become(argv)


def leave_behind(listener: int, path: str) -> None:
    """Start the process that carries connections; it is nobody's child here."""
    command = os.getpid()
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return
    try:
        if os.fork() == 0:
            carry(listener, path, command)
    finally:
        os._exit(0)


def carry(listener: int, path: str, command: int) -> None:
    """Take connections until the command is gone."""
    os.setsid()  # what is sent to the command's group is for the command
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)  # whoever reads what the command writes waits for the end of it
    os.chdir("/")
    life = life_of(command)
    first = 3
    for kept in sorted({listener, life} - {-1}):
        os.closerange(first, kept)
        first = kept + 1
    os.closerange(first, _FILES)
    import select  # noqa: PLC0415 - behind the fork, where it delays no command
    import socket  # noqa: PLC0415 - likewise
    import threading  # noqa: PLC0415 - likewise

    threading.stack_size(_STACK_BYTES)
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    if life >= 0:
        poll.register(life, select.POLLIN)
    taking = socket.socket(fileno=listener)
    at_rest = threading.active_count()
    while is_alive(command, life):
        ready = [file for file, _ in poll.poll(_LOOK_MS if life < 0 else None)]
        if life in ready:
            return
        if listener not in ready:
            continue
        client, _ = taking.accept()
        if threading.active_count() - at_rest >= 2 * CONNECTIONS:
            client.close()
            continue
        threading.Thread(target=forward, args=(client, path), daemon=True).start()


def life_of(command: int) -> int:
    """A file that is ready to be read when the process is gone; -1 where the kernel has none."""
    try:
        return os.pidfd_open(command)
    except (AttributeError, OSError):
        return -1


def is_alive(command: int, life: int) -> bool:
    """Whether the command lives; where `life` tells, it is not asked for."""
    if life >= 0:
        return True
    try:
        os.kill(command, 0)
    except ProcessLookupError:
        return False
    return True


def forward(client: socket.socket, path: str) -> None:
    """Carry one connection to the proxy, and what comes back."""
    import socket  # noqa: PLC0415 - see carry
    import threading  # noqa: PLC0415 - see carry

    with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as proxy:
        try:
            proxy.connect(path)
        except OSError:
            client.sendall(_GONE)
            return
        back = threading.Thread(target=carry_back, args=(proxy, client), daemon=True)
        back.start()
        carry_there(client, proxy)
        back.join()


def carry_there(client: socket.socket, proxy: socket.socket) -> None:
    """From the command to the proxy. What the proxy takes no more is read all the same: closed with something unread,
    the connection would be reset, and the proxy's answer lost on the way.
    """
    is_open = True
    try:
        while piece := client.recv(_PIECE_BYTES):
            if is_open:
                try:
                    proxy.sendall(piece)
                except OSError:
                    is_open = False
        proxy.shutdown(_socket.SHUT_WR)
    except OSError:
        return


def carry_back(proxy: socket.socket, client: socket.socket) -> None:
    """From the proxy to the command. When nobody takes it any more, the proxy is told."""
    try:
        while piece := proxy.recv(_PIECE_BYTES):
            client.sendall(piece)
        client.shutdown(_socket.SHUT_WR)
    except OSError:
        try:
            proxy.shutdown(_socket.SHUT_RDWR)
        except OSError:
            return


if __name__ == "__main__":
    main()
