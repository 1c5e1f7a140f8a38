"""Flower for a local stack: a private configuration file with a generated login; loopback only.

The login is kept between runs, in a file of this user alone: neither an argument nor a log has it.
"""

from __future__ import annotations

import base64
import http.client
import importlib.util
import socket
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from neuraphage.dev.local_model import free_port
from neuraphage.dev.server_files import keep_secret, write_private
from neuraphage.errors import BadInput, StackError
from neuraphage.private_files import private_folder

HOST = "127.0.0.1"
USER = "neuraphage"
USUAL_PORT = 5555
"""Where people look for Flower; another one when it is taken."""
MAX_TASKS = 10_000
"""Messages that Flower remembers."""
ANSWER_TIMEOUT_S = 5.0
_CHEAP_PATH = "/api/workers?status=1"
"""Behind the login, and answered from what is known already."""


@dataclass(frozen=True, slots=True)
class FlowerFiles:
    """What Flower is started with, and what a person needs to log in.

    Args:
        port: on loopback.
        password: of USER.
        config: its configuration file, which holds the password.
        login: file for the person: address, user and password.
    """

    port: int
    password: str = field(repr=False)
    config: Path
    login: Path

    @property
    def url(self) -> str:
        """Where a browser finds it; without the login."""
        return f"http://{HOST}:{self.port}"


def prepare_flower(data_dir: Path) -> FlowerFiles:
    """Write Flower's private files into the data folder.

    Raises:
        BadInput: Flower is not installed.
        StackError: the folder cannot be written.
    """
    if importlib.util.find_spec("flower") is None:
        raise BadInput("Flower is not installed: pip install 'neuraphage[flower]', or leave --flower out")
    folder = data_dir.absolute() / "flower"
    try:
        private_folder(folder)
    except OSError as error:
        raise StackError(f"make the folder {folder}: {error.strerror}; choose another NEURAPHAGE_DATA_DIR") from error
    files = FlowerFiles(_port(), keep_secret(folder / "password"), folder / "flowerconfig.py", folder / "login.txt")
    write_private(files.config, render_config(files))
    write_private(files.login, f"{files.url}\nuser: {USER}\npassword: {files.password}\n")
    return files


def render_config(files: FlowerFiles) -> str:
    """Spell out Flower's configuration, which is Python. Pure."""
    values = {
        "address": HOST,
        "port": files.port,
        "basic_auth": [f"{USER}:{files.password}"],
        "max_tasks": MAX_TASKS,
    }
    return "".join(f"{name} = {value!r}\n" for name, value in values.items())


def answers(files: FlowerFiles) -> bool:
    """Whether this Flower answers. Another stack's, which took the port at the same moment, has another login."""
    login = base64.b64encode(f"{USER}:{files.password}".encode()).decode()
    with closing(http.client.HTTPConnection(HOST, files.port, timeout=ANSWER_TIMEOUT_S)) as connection:
        try:
            connection.request("GET", _CHEAP_PATH, headers={"Authorization": f"Basic {login}"})
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False


def _port() -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections may linger
        try:
            probe.bind((HOST, USUAL_PORT))
        except OSError:
            return free_port()
        return USUAL_PORT
