"""Results of calls whose tool gives none: it raised, was interrupted, or is gone. Pure."""

from __future__ import annotations

from neuraphage.decide.shorten import printable, shorten
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ToolDeclaration, ToolResult

_COMMAND_SHOWN_CHARS = 500


def raised_result(declaration: ToolDeclaration, error: BaseException) -> ToolResult:
    """The result of a call whose tool raised what it did not put into words: before its effect, or after it.

    Args:
        declaration: of the tool.
        error: whatever it raised.
    """
    text = f"{declaration.name} failed: {type(error).__name__}: {error}".rstrip(": ")
    if declaration.effect_class is not EffectClass.PURE:
        text += (
            "\nWhether it took effect is not known. Look at the present state before you call it again: that would be"
            " another effect."
        )
    return ToolResult(text=text, is_error=True)


def interrupted_result(command: str, known: str) -> ToolResult:
    """The result of a command whose outcome is unknown.

    Args:
        command: the command line, or the name of the tool.
        known: a sentence of what is known (without the full stop).
    """
    shown = shorten(printable(command), _COMMAND_SHOWN_CHARS)
    return _unknown(
        f"The command was interrupted and its outcome is unknown: it may have run fully, in part, or not at all.\n"
        f"Command: {shown}\n"
        f"What is known: {printable(known).rstrip('.')}.\n"
        f"Look at what it would have changed before you decide whether to run it again."
    )


def changed_result(name: str) -> ToolResult:
    """The result of a checkable call whose tool cannot tell any more whether it happened.

    Args:
        name: of the tool.
    """
    return _unknown(
        f"{name} was interrupted, and what it works on has changed since: it may have been done or not. Look at the"
        " present state before repeating it."
    )


def of_other_tools_result(name: str, tool: ToolDeclaration | None, problem: str | None) -> ToolResult:
    """The result of a call that a worker with other tools had begun, while nobody has said what came of it.

    Args:
        name: of the tool.
        tool: the one of this name now, of another version; None when it is gone.
        problem: why it is gone, if that is known.
    """
    if tool is None:
        now = f"The tool is gone since. {problem or ''}".rstrip()
    else:
        now = f"The tool has changed since (it is version {tool.version} now), so it was not called again."
    return _unknown(
        f"{name} was interrupted and its outcome is unknown: it may have been done or not. {now} Look at the"
        " present state before you go on."
    )


def forbidden_result(name: str) -> ToolResult:
    """The result of a keyed call that was interrupted, and that a rule has forbidden since.

    Args:
        name: of the tool.
    """
    return _unknown(
        f"{name} was interrupted and its outcome is unknown: it may have been done or not. A rule forbids it since, so"
        " it was not called again. Look at the present state before you go on."
    )


def _unknown(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True, unknown_outcome=True)
