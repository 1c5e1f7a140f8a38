"""What is asked about whatever is allowed: files that run by themselves, that hold secrets, or that instruct. Pure.

A change of one of these outlives the task, or works where no sandbox is: the next `git commit`, the next login, the
next run of the project's CI. A secret that was read once is in the conversation for good.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from neuraphage.decide.rules.matching import any_path
from neuraphage.model.shell import HOME, ShellLine, SimpleCommand

SECRETS = (
    "**/.env",
    "**/.env.*",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/*.jks",
    "**/*.keystore",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ed25519",
    "**/.netrc",
    "**/.pypirc",
    "**/.npmrc",
    "**/.git-credentials",
    "**/.aws/credentials",
    "**/.docker/config.json",
    "**/.kube/config",
)
"""Files that hold keys and passwords: asked about before they are read, too."""
_NO_SECRETS = ("**/.env.example", "**/.env.sample", "**/.env.template", "**/.env.dist")
RUN_BY_THEMSELVES = (
    "**/.git/**",
    "**/.husky/**",
    "**/.pre-commit-config.yaml",
    "**/.github/workflows/**",
    "**/.github/actions/**",
    "**/.gitlab-ci.yml",
    "**/.circleci/**",
    "**/.buildkite/**",
    "**/.woodpecker/**",
    "**/.forgejo/workflows/**",
    "**/.gitea/workflows/**",
    "**/.travis.yml",
    "**/.drone.yml",
    "**/azure-pipelines.yml",
    "**/bitbucket-pipelines.yml",
    "**/jenkinsfile",
    "**/.vscode/**",
    "**/.idea/**",
    "**/.vimrc",
    "**/.exrc",
    "**/.nvimrc",
    "**/.dir-locals.el",
    "**/.envrc",
    "**/.bashrc",
    "**/.bash_profile",
    "**/.bash_aliases",
    "**/.profile",
    "**/.zshrc",
    "**/.zshenv",
    "**/.zprofile",
    "**/.ssh/**",
    "**/sitecustomize.py",
    "**/usercustomize.py",
)
"""Files that a later command of somebody, an editor, a shell or a CI runs."""
INSTRUCTIONS = (
    "**/neuraphage.toml",
    "**/neuraphage/rules.toml",
    "**/neuraphage/trust.toml",
    "**/agents.md",
    "**/claude.md",
    "**/gemini.md",
    "**/.cursorrules",
    "**/.cursor/**",
    "**/.windsurfrules",
    "**/.clinerules",
    "**/.github/copilot-instructions.md",
)
"""Files that tell agents, this one included, what to do."""
_CHANGED_WITH_CARE = (*RUN_BY_THEMSELVES, *INSTRUCTIONS)
_MOST_PLACES = 8
_CHANGES = frozenset(
    {"chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "rm", "rsync", "sed", "tee", "touch", "truncate"}
)
"""Programs that change the files which they name."""


def is_secret(path: str, working_dir: str | None) -> bool:
    """Whether a file holds keys or passwords, by its name."""
    return _is_one_of(SECRETS, path, working_dir) and not _is_one_of(_NO_SECRETS, path, working_dir)


def is_protected(path: str, working_dir: str | None) -> bool:
    """Whether a change of a file is asked about whatever is allowed."""
    return is_secret(path, working_dir) or _is_one_of(_CHANGED_WITH_CARE, path, working_dir)


def _is_one_of(patterns: tuple[str, ...], path: str, working_dir: str | None) -> bool:
    """Names are compared without case: some file systems do so too."""
    whole = posixpath.normpath(posixpath.join(working_dir or "/", path.replace(HOME, "/"))).lower()
    return any_path(patterns).fullmatch(whole.lstrip("/")) is not None


def protected_in_line(line: ShellLine, working_dir: str | None) -> Iterator[str]:
    """What a command line does to protected files, in words for people; as far as its words tell.

    A name is looked at from each directory that the line changes to: which one it is meant from is not worked out.
    """
    places: list[str | None] = [working_dir]
    for command in line.commands:
        if command.name in ("cd", "pushd"):
            texts = [text for word in command.words[1:] for text in word.texts]
            places += [posixpath.join(place or "/", text) for place in places[:_MOST_PLACES] for text in texts]
    places = places[:_MOST_PLACES]
    for one in line.redirects:
        if one.writes and any(is_protected(text, place) for text in one.target.texts for place in places):
            yield f"it writes {one.target.source}, which is protected"
    for command in line.commands:
        for place in places:
            yield from _in_command(command, place)


def _in_command(command: SimpleCommand, working_dir: str | None) -> Iterator[str]:
    changes = command.name in _CHANGES
    for word in command.words[1:]:
        for text in word.texts:
            path = text.partition("=")[2] or text if text.startswith(("-", "of=", "if=")) else text
            if changes and is_protected(path, working_dir):
                yield f"it may change {word.source}, which is protected"
            elif is_secret(path, working_dir):
                yield f"it may read {word.source}, which is protected"
