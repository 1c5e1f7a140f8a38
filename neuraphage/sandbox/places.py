"""Places that a command is not shown, and those in a home that it needs."""

from __future__ import annotations

SYSTEM_HIDDEN = (
    "/run",  # sockets of services (Docker, D-Bus, agents), and secrets that an orchestrator mounts
    "/root",
    "/home",
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/krb5.keytab", "/etc/NetworkManager/system-connections", "/etc/wireguard",
    "/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
    "/etc/kubernetes", "/etc/rancher", "/etc/docker/key.json",
    "/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/spool/cron",
)  # fmt: skip
"""Hidden from every command, where they are: a command of root's could read them all."""

SYSTEM_SHOWN = ("/run/current-system", "/run/wrappers", "/run/opengl-driver")
"""Programs that NixOS keeps below a hidden place."""

HOME_SHOWN = (
    ".gitconfig", ".config/git",
    ".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/pnpm",
    ".local/share/virtualenvs", ".local/share/mise", ".virtualenvs", ".venvs",
    ".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".asdf", ".nvm", ".fnm", ".volta", ".sdkman", ".rye",
    ".conda/envs", ".rustup", ".cargo/bin", ".cargo/env", ".cargo/registry", ".cargo/git",
    ".bun/bin", ".deno/bin", ".npm-global", ".ghcup", ".opam", ".elan", ".juliaup", ".dotnet",
    ".m2/repository", ".m2/wrapper", ".gradle/wrapper", ".gradle/caches", ".ivy2/cache", ".stack/programs",
)  # fmt: skip
"""Of what begins with a dot in a home: tool chains, and what git calls its user. Everything else there is hidden: keys,
logins, histories and browsers keep it there, under names that nobody can list.
"""

GUARDED = (".git/hooks", ".git/config")
"""In the working directory: what a person's own git would run. A command must not be able to leave orders there."""
