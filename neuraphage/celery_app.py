"""The Celery app under a name that nothing can hide: `celery -A neuraphage.celery_app worker|beat`.

`workers` is a common name for a package, and Celery looks into the current folder first. So a folder with a `workers`
of its own hides ours from `celery -A workers.app`. Here ours is loaded from where neuraphage itself was installed,
whatever the path says, and kept under its name, so that every later import finds it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from neuraphage.errors import StackError

PACKAGE = "workers"
MARK = 'OWNER = "neuraphage"'
"""A line of our package's `__init__.py`."""
_REINSTALL = "install neuraphage again, best in a virtual environment of its own (pip install --force-reinstall)"


def find_workers(home: Path | None = None) -> Path:
    """Find our `workers` package, without running any of it.

    Args:
        home: the folder that neuraphage was installed into; None for that of this process.

    Returns:
        Its `__init__.py`.

    Raises:
        StackError: it is missing, or another project's package took its place; the message names the file.
    """
    path = (home or Path(__file__).resolve().parent.parent) / PACKAGE / "__init__.py"
    try:
        ours = is_ours(path)
    except OSError as error:
        raise StackError(f"{path}, a part of neuraphage, cannot be read ({error.strerror}): {_REINSTALL}") from None
    if not ours:
        raise StackError(
            f"{path} is not neuraphage's: another project with a top-level package {PACKAGE!r} was installed over it;"
            f" uninstall that project or rename its package, and {_REINSTALL}"
        )
    return path


def is_ours(path: Path) -> bool:
    """Whether a file is the `__init__.py` of a package of ours: by its words, which another one may have copied.

    Raises:
        OSError: it cannot be read.
    """
    return path.name == "__init__.py" and MARK in path.read_text(encoding="utf-8", errors="replace")


def load_workers(path: Path) -> ModuleType:
    """Load the package from this file, under its usual name.

    Args:
        path: as find_workers returned it.

    Raises:
        StackError: this process has loaded another package of that name already.
    """
    loaded = sys.modules.get(PACKAGE)
    if loaded is not None:
        if loaded.__file__ is None or Path(loaded.__file__).resolve() != path:
            raise StackError(f"this process has loaded {loaded.__file__ or loaded} as {PACKAGE!r}, and needs {path}")
        return loaded
    spec = importlib.util.spec_from_file_location(PACKAGE, path, submodule_search_locations=[str(path.parent)])
    if spec is None or spec.loader is None:
        raise StackError(f"{path} cannot be loaded: {_REINSTALL}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)
    return module


def __getattr__(name: str) -> Any:
    """The app, built when Celery asks for it: who only wants to look for the package builds nothing."""
    if name not in ("app", "celery"):
        raise AttributeError(f"module {__name__} has no attribute {name!r}")
    try:
        load_workers(find_workers())
    except StackError as error:
        sys.exit(f"neuraphage: {error}")  # Celery would show any other exception with its traceback
    return importlib.import_module(f"{PACKAGE}.app").app
