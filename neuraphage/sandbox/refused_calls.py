"""System calls that no command in a sandbox needs: each is a way out of it, or a wide door into the kernel.

The list follows what containers and desktop applications live with: the default profile of Docker
(github.com/moby/profiles, seccomp/default.json) and the list of Flatpak (flatpak-run.c, setup_seccomp). Names of calls
are those of Linux; numbers are those of its tables for x86_64 and of asm-generic for aarch64.

Standard library only: landlock_exec.py loads this file by its folder.
"""

from __future__ import annotations

import errno

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH of each machine that the filter is known for, by the name that uname gives it."""
NEWEST = 469
"""The last call of the tables that this list was made from (file_setattr, Linux 6.17)."""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET, as clone takes them."""
NEW_TIME = 0x80
"""CLONE_NEWTIME, which only unshare takes here: in flags of clone it is a part of the signal's number."""
TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into a terminal, for the shell that reads it next."""
PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
"""As Docker has them: Linux, 32 bits, versions as 2.6, both, and the question which one it is."""
UNIX, INET, INET6, NETLINK, ROUTE = 1, 2, 10, 16, 0
"""Families of sockets; and the protocol of netlink that asks for addresses and routes, by which libc resolves names."""

DENIED, ABSENT = errno.EPERM, errno.ENOSYS

# what a call answers, its name, its number on x86_64 and on aarch64 (None: there is none)
CALLS: tuple[tuple[int, str, int | None, int | None], ...] = (
    # file systems: what is hidden would be mounted elsewhere, what is read-only made writable
    (DENIED, "mount", 165, 40),
    (DENIED, "umount2", 166, 39),
    (DENIED, "pivot_root", 155, 41),
    (DENIED, "chroot", 161, 51),
    (ABSENT, "open_tree", 428, 428),  # programs try these first, and then the older ones
    (ABSENT, "move_mount", 429, 429),
    (ABSENT, "fsopen", 430, 430),
    (ABSENT, "fsconfig", 431, 431),
    (ABSENT, "fsmount", 432, 432),
    (ABSENT, "fspick", 433, 433),
    (ABSENT, "mount_setattr", 442, 442),
    (ABSENT, "open_tree_attr", 467, 467),
    (DENIED, "open_by_handle_at", 304, 265),  # a file by its number, past every hidden folder
    (DENIED, "fanotify_init", 300, 262),
    (DENIED, "swapon", 167, 224),
    (DENIED, "swapoff", 168, 225),
    (DENIED, "acct", 163, 89),
    (DENIED, "quotactl", 179, 60),
    (DENIED, "quotactl_fd", 443, 443),
    # namespaces: one of its own gives a process rights that this list is to keep from it
    (DENIED, "setns", 308, 268),
    (ABSENT, "clone3", 435, 435),  # its flags lie in memory, where no filter sees them; libc then uses clone
    # other processes
    (DENIED, "process_vm_readv", 310, 270),
    (DENIED, "process_vm_writev", 311, 271),
    (DENIED, "pidfd_getfd", 438, 438),
    (DENIED, "kcmp", 312, 272),
    (DENIED, "move_pages", 279, 239),
    (DENIED, "migrate_pages", 256, 238),
    (DENIED, "mbind", 237, 235),
    (DENIED, "set_mempolicy", 238, 237),
    (DENIED, "set_mempolicy_home_node", 450, 450),
    # keys of the kernel, which no namespace separates
    (DENIED, "add_key", 248, 217),
    (DENIED, "request_key", 249, 218),
    (DENIED, "keyctl", 250, 219),
    # doors into the kernel through which most escapes went
    (DENIED, "bpf", 321, 280),
    (DENIED, "perf_event_open", 298, 241),
    (DENIED, "userfaultfd", 323, 282),
    (ABSENT, "io_uring_setup", 425, 425),  # it opens files and sockets without any of the other calls
    (ABSENT, "io_uring_enter", 426, 426),
    (ABSENT, "io_uring_register", 427, 427),
    (DENIED, "modify_ldt", 154, None),
    (DENIED, "uselib", 134, None),
    (DENIED, "lookup_dcookie", 212, 18),
    # the machine
    (DENIED, "kexec_load", 246, 104),
    (DENIED, "kexec_file_load", 320, 294),
    (DENIED, "init_module", 175, 105),
    (DENIED, "finit_module", 313, 273),
    (DENIED, "delete_module", 176, 106),
    (DENIED, "reboot", 169, 142),
    (DENIED, "syslog", 103, 116),
    (DENIED, "settimeofday", 164, 170),
    (DENIED, "clock_settime", 227, 112),
    (DENIED, "sethostname", 170, 161),
    (DENIED, "setdomainname", 171, 162),
    (DENIED, "vhangup", 153, 58),
    (DENIED, "iopl", 172, None),
    (DENIED, "ioperm", 173, None),
)

WEIGHED = {
    "clone": (56, 220),
    "unshare": (272, 97),
    "ioctl": (16, 29),
    "personality": (135, 92),
    "ptrace": (101, 117),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "prlimit64": (302, 261),
}
"""Calls of which some arguments are refused; see seccomp.py."""
