"""The processes of a local stack: what to run, with which arguments and environment. Pure, but for making folders."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from neuraphage.dev.address import ServerAddress
from neuraphage.dev.flower import FlowerFiles, answers
from neuraphage.dev.process_spec import ProcessSpec
from neuraphage.dev.server import LOADING_TIMEOUT_S, EmbeddedServer
from neuraphage.errors import SettingsError
from neuraphage.own_secrets import is_model_key
from neuraphage.private_files import private_folder
from neuraphage.queue.names import CONTROL_QUEUE, RUN_QUEUE

CONTROL_CONCURRENCY = 2
SCRIPTED_KEY = "scripted-model-needs-no-key"
CONNECT_TIMEOUT_S = 1.0
_APP = "neuraphage.celery_app"
"""`workers.app`, which a package of the current folder could hide, from where it was installed."""
_SERVER_VARIABLES = ("NEURAPHAGE_STATE_URL", "NEURAPHAGE_BROKER_URL")
_FLOWER_PREFIX = "FLOWER_"
"""Variables with options for a Flower of the person's own."""
_WORKER_READY = " ready."
_BEAT_READY = "beat: Starting"


@dataclass(frozen=True, slots=True)
class StackPlan:
    """A stack to run.

    Args:
        data_dir: folder for everything.
        address: the server; its URLs hold the password.
        namespace: prefix of every key.
        environ: what the processes inherit (PATH, HOME, the model's key, other NEURAPHAGE_* settings).
        workers: worker processes for turns, 1 to 64.
        concurrency: turns at a time in each, 1 to 256.
        scripted_port: loopback port of the scripted model; None for the real one.
        scripted_arguments: further arguments of the scripted model (which script it plays).
        flower: what Flower is started with; None for no Flower.
        step_s: longest time of a step in hand, which a worker that is asked to end may still take.
        python: interpreter to run them with.
    """

    data_dir: Path
    address: ServerAddress
    namespace: str = "default"
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    workers: int = 1
    concurrency: int = 8
    scripted_port: int | None = None
    scripted_arguments: tuple[str, ...] = ()
    flower: FlowerFiles | None = None
    step_s: float | None = None
    python: str = sys.executable

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= 64:
            raise SettingsError(f"workers of a stack: got {self.workers}, want 1 to 64")
        if not 1 <= self.concurrency <= 256:
            raise SettingsError(f"concurrency of a worker: got {self.concurrency}, want 1 to 256")

    @property
    def log_dir(self) -> Path:
        """Folder for the output of the processes."""
        return self.data_dir / "logs"

    @property
    def beat_schedule(self) -> Path:
        """Beside this name beat shows its ticks."""
        return self.data_dir / "beat" / "schedule"


def stack_specs(plan: StackPlan, server: EmbeddedServer | None = None) -> tuple[ProcessSpec, ...]:
    """List the processes of a stack in the order of their start.

    Args:
        plan: the stack.
        server: a prepared server of our own; None when someone else runs it.
    """
    specs = [] if server is None else [server_spec(server)]
    if plan.scripted_port is not None:
        specs.append(scripted_spec(plan, plan.scripted_port))
    for number in range(1, plan.workers + 1):
        name = "worker" if plan.workers == 1 else f"worker-{number}"
        argv = worker_argv(plan, name, RUN_QUEUE, plan.concurrency)
        specs.append(
            ProcessSpec(
                name,
                argv if plan.flower is None else (*argv, "-E"),  # events cost a quarter of the throughput
                environment(plan, model_key=True),
                ready_text=_WORKER_READY,
                address=f"up to {_count(plan.concurrency, 'turn')} at a time",
                grace_s=plan.step_s,
            )
        )
    control = worker_argv(plan, "control", CONTROL_QUEUE, CONTROL_CONCURRENCY)
    env = environment(plan, model_key=False)
    specs.append(ProcessSpec("control", control, env, ready_text=_WORKER_READY, address="sweeps"))
    env = broker_environment(plan)
    specs.append(ProcessSpec("beat", beat_argv(plan), env, ready_text=_BEAT_READY, address="asks for sweeps"))
    if plan.flower is not None:
        specs.append(flower_spec(plan, plan.flower))
    return tuple(specs)


def server_spec(server: EmbeddedServer) -> ProcessSpec:
    """Describe a prepared server: needed by all, and left running when the supervisor is killed."""
    return ProcessSpec(
        "server",
        server.argv(),
        server.environment(),
        ready=server.answers,
        adopt=server.adopt,
        log=server.files.log,
        address=f"127.0.0.1:{server.address.port}",
        ready_timeout_s=LOADING_TIMEOUT_S,  # ended while it reads a large file, it would never come up
        foundation=True,
        outlives_supervisor=True,
        umask=0o077,  # its files hold every conversation, and under one that takes all rights it could not read them
    )


def worker_argv(plan: StackPlan, name: str, queue: str, concurrency: int) -> tuple[str, ...]:
    """Command line of a Celery worker with the threads pool.

    Args:
        plan: the stack.
        name: of the process; the node name adds the namespace, so that two stacks of a host differ.
        queue: the one queue it reads.
        concurrency: messages at a time.
    """
    worker = (*_celery(plan), "worker", "-P", "threads", "-c", str(concurrency), "-Q", queue)
    return (*worker, "-n", f"{name}-{plan.namespace}@%h", "-l", "INFO", "--without-mingle", "--without-gossip")


def beat_argv(plan: StackPlan) -> tuple[str, ...]:
    """Command line of beat. Without a pid file: one left by a crash would keep the next beat from starting."""
    return (*_celery(plan), "beat", "-s", str(plan.beat_schedule), "-l", "INFO")


def scripted_spec(plan: StackPlan, port: int) -> ProcessSpec:
    """Describe the scripted model on a loopback port: the workers need it. It plays code of others, so it gets no
    password: neither those of the servers nor a key."""
    argv = (plan.python, "-P", "-m", "neuraphage.testing.scripted_api", "--port", str(port), *plan.scripted_arguments)
    env = {name: v for name, v in environment(plan, model_key=False).items() if name not in _SERVER_VARIABLES}
    address = f"127.0.0.1:{port}, plays a script"
    return ProcessSpec("model", argv, env, ready=lambda: _accepts(port), foundation=True, address=address)


def flower_spec(plan: StackPlan, files: FlowerFiles) -> ProcessSpec:
    """Describe Flower: its login is in its private configuration file."""
    argv = (*_celery(plan), "flower", f"--conf={files.config}")
    env = {name: value for name, value in broker_environment(plan).items() if not name.startswith(_FLOWER_PREFIX)}
    address = f"{files.url} (login in {files.login})"
    return ProcessSpec("flower", argv, env, ready=lambda: answers(files), address=address)


def environment(plan: StackPlan, *, model_key: bool) -> dict[str, str]:
    """Environment of a process of the stack.

    Args:
        plan: the stack.
        model_key: whether the process calls the model; the others do not get its key. With a scripted model nobody
            gets the real one.
    """
    env = {name: value for name, value in plan.environ.items() if not is_model_key(name)}
    env |= {
        "NEURAPHAGE_STATE_URL": plan.address.state_url,
        "NEURAPHAGE_BROKER_URL": plan.address.broker_url,
        "NEURAPHAGE_DATA_DIR": str(plan.data_dir),
        "NEURAPHAGE_NAMESPACE": plan.namespace,
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",  # in another locale no tool could name a file whose characters that one has not
    }
    if plan.scripted_port is not None:
        env["NEURAPHAGE_ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{plan.scripted_port}"
        env["NEURAPHAGE_OPENAI_BASE_URL"] = f"http://127.0.0.1:{plan.scripted_port}/v1"
        env |= {"ANTHROPIC_API_KEY": SCRIPTED_KEY} if model_key else {}
    elif model_key:
        env |= {name: value for name, value in plan.environ.items() if is_model_key(name)}
    return env


def broker_environment(plan: StackPlan) -> dict[str, str]:
    """Environment of a process that only sends or watches messages: it gets the broker's address, and no key."""
    env = environment(plan, model_key=False)
    del env["NEURAPHAGE_STATE_URL"]
    return env


def make_folders(plan: StackPlan) -> None:
    """Make the folders that the processes write to, private to this user."""
    for folder in (plan.log_dir, plan.beat_schedule.parent):
        private_folder(folder)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False


def _celery(plan: StackPlan) -> tuple[str, ...]:
    return (plan.python, "-P", "-m", "celery", "-A", _APP)  # -P: nothing of the current folder hides a library
