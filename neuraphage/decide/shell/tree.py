"""The commands of a shell command line, from the tree of a parser (`shfmt --to-json`). Pure.

Every node is walked, of whatever kind: a kind that is not known here hides nothing that stands in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neuraphage.decide.shell.words import read_word
from neuraphage.model.shell import Redirect, ShellLine, SimpleCommand

Node = Mapping[str, Any]


def read_tree(tree: Node, source: bytes) -> ShellLine:
    """All that a command line runs and writes by itself; what its programs run in their turn is not looked at.

    Args:
        tree: of the parser.
        source: the command line.
    """
    commands: list[SimpleCommand] = []
    redirects: list[Redirect] = []
    assigned, texts, unclear, is_bomb = [], [], [], False
    for node in _nodes(tree):
        for redirect in node.get("Redirs") or ():
            if "Word" in redirect:
                redirects.append(Redirect(redirect["Op"], read_word(redirect["Word"], source)))
            texts += _texts_of(redirect, source)
        assigned += _assigned(node)
        match node.get("Type"):
            case "CallExpr" if node.get("Args"):
                commands.append(SimpleCommand(tuple(read_word(word, source) for word in node["Args"])))
            case "FuncDecl":
                unclear.append(f"it defines a function, {node['Name']['Value']}")
                is_bomb = is_bomb or _starts_itself(node)
    return ShellLine(tuple(commands), tuple(redirects), tuple(assigned), tuple(texts), tuple(unclear), is_bomb)


def _texts_of(redirect: Node, source: bytes) -> list[str]:
    """The here-document or here-string of a redirect."""
    if "Hdoc" in redirect:
        place = redirect["Hdoc"]
        return [source[place["Pos"]["Offset"] : place["End"]["Offset"]].decode("utf-8", "replace")]
    if redirect["Op"] == "<<<":
        word = read_word(redirect["Word"], source)
        return [word.text if word.text is not None else word.source]
    return []


def _assigned(node: Node) -> list[str]:
    """Variables that a node sets: before a command, by a declaration, or those of a loop that are not in lower case."""
    settings = (*(node.get("Assigns") or ()), *(node.get("Args") or ()))
    found = [str(setting["Name"]["Value"]) for setting in settings if "Name" in setting]
    if node.get("Type") == "WordIter" and not str(node["Name"]["Value"]).islower():
        found.append(str(node["Name"]["Value"]))
    return found


def _nodes(tree: Any) -> Iterator[Node]:
    """Every node with its fields, in the order in which they are written."""
    waiting = [tree]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Mapping):
            yield found
            waiting += [value for value in reversed(list(found.values())) if isinstance(value, Mapping | list)]
        elif isinstance(found, list):
            waiting += reversed(found)


def _starts_itself(function: Node) -> bool:
    """Whether a function calls itself twice, or in the background: it starts processes until there can be no more."""
    name, calls = function["Name"]["Value"], 0
    for node in _nodes(function["Body"]):
        if _calls(node, name):
            calls += 1
        if node.get("Background") and any(_calls(inner, name) for inner in _nodes(node)):
            return True
    return calls > 1


def _calls(node: Node, name: str) -> bool:
    if node.get("Type") != "CallExpr" or not node.get("Args"):
        return False
    parts: list[Node] = node["Args"][0].get("Parts") or []
    return len(parts) == 1 and parts[0].get("Value") == name
