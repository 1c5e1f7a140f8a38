"""The order in which bubblewrap mounts a view: what lies over what."""

from __future__ import annotations

from neuraphage.model.sandbox import SandboxView
from neuraphage.sandbox.bubblewrap import under_bubblewrap


def mounts_of(view: SandboxView) -> list[str]:
    argv = under_bubblewrap(["true"], view, program="bwrap", temporary="/t")
    return " ".join(argv[argv.index("ALL") : argv.index("--chdir")]).split(" --")


def test_the_root_as_a_working_directory_is_mounted_once() -> None:
    """A second mount of it would hide the devices and processes of the sandbox."""
    found = mounts_of(SandboxView("/", hidden=("/etc",)))
    assert [one for one in found if one.endswith(" / /")] == ["bind / /"]
    assert found.index("bind / /") < found.index("dev /dev") < found.index("tmpfs /etc")


def test_a_working_directory_is_mounted_over_what_hides_its_parents() -> None:
    """And what is hidden or guarded in it over it."""
    view = SandboxView("/home/u/p", guarded=("/home/u/p/.git/config",), hidden=("/home", "/home/u/p/data"))
    found = mounts_of(view)
    order = ("ro-bind / /", "tmpfs /home", "bind /home/u/p /home/u/p", "bind /home/u/p/.git /home/u/p/.git")
    guard = "ro-bind /home/u/p/.git/config /home/u/p/.git/config"
    assert sorted((*order, guard), key=found.index) == [*order, guard]
    assert found.index(order[2]) < found.index("ro-bind /dev/null /home/u/p/data")
