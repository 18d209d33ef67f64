"""container.py start FOLDER, container.py exec FOLDER COMMAND…: one container, without an engine.

FOLDER/spec.json says what it is: `root` (the folder of its image), `read_only`, `mounts`, `tmpfs`, `network` (a name of
`ip netns`), `command`, `environment`, `working_folder`, `user`, `capabilities`, `no_new_privileges`. `start` writes the
process id to FOLDER/pid, waits for its end, and writes its status to FOLDER/exit. `exec` runs a command in a container
that runs.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
NEW_MOUNTS, NEW_NAME, NEW_IPC, NEW_PROCESSES, NEW_NETWORK = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
SET_DEATH_SIGNAL, DROP_BOUND, SET_NO_NEW_PRIVILEGES = 1, 24, 38

# By their numbers, from linux/capability.h.
CAPABILITIES = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE"
    " NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN"
    " SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE"
    " MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
).split()

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*(each.encode() if isinstance(each, str) else each for each in arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, data=None):
    call("mount", source, str(target), kind, flags, data)


def prepare(spec):
    """Mounts, in a namespace of their own, over the image's root."""
    root = Path(spec["root"])
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount(str(root), root, None, MS_BIND)
    # Their targets are made in the container's own layer, as an engine makes them.
    places = [each["target"] for each in spec["mounts"] if Path(each["source"]).is_dir()] + spec["tmpfs"]
    for target in places + ["/proc", "/dev", "/tmp"]:
        (root / target[1:]).mkdir(parents=True, exist_ok=True)
    for each in spec["mounts"]:
        if not Path(each["source"]).is_dir():
            (root / each["target"][1:]).parent.mkdir(parents=True, exist_ok=True)
            (root / each["target"][1:]).touch()
    if spec["read_only"]:
        mount(None, root, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
    mount("proc", root / "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("tmpfs", root / "dev", "tmpfs", MS_NOSUID, "mode=755,size=64k")
    for device in ("null", "zero", "full", "random", "urandom", "tty"):
        (root / "dev" / device).touch()
        mount(f"/dev/{device}", root / "dev" / device, None, MS_BIND)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", root / "dev" / name)
    (root / "dev/shm").mkdir()
    mount("shm", root / "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777,size=64m")
    for target in spec["tmpfs"]:
        mount("tmpfs", root / target[1:], "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    for each in spec["mounts"]:
        target = root / each["target"][1:]
        mount(each["source"], target, None, MS_BIND)
        if each["read_only"]:
            mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY)


def become(spec):
    """The root, the user and the rights of the container."""
    os.chroot(spec["root"])
    os.chdir(spec["working_folder"])
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for number in range(last + 1):
        if number >= len(CAPABILITIES) or CAPABILITIES[number] not in spec["capabilities"]:
            call("prctl", DROP_BOUND, number, 0, 0, 0)
    user, group = spec["user"]
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    if spec["no_new_privileges"]:
        call("prctl", SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    os.umask(0o022)


def execute(spec, command):
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    environment = spec["environment"]
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def status_of(status):
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def enter_network(spec):
    if spec["network"] is None:
        call("unshare", NEW_NETWORK)
        return
    with open(f"/run/netns/{spec['network']}") as namespace:
        call("setns", namespace.fileno(), NEW_NETWORK)


def start(folder, spec):
    enter_network(spec)
    call("unshare", NEW_MOUNTS | NEW_NAME | NEW_IPC | NEW_PROCESSES)
    child = os.fork()
    if child == 0:
        # As its own first process, in a process namespace: with it goes whatever it has started.
        os.setsid()
        call("sethostname", spec["name"], len(spec["name"]))
        prepare(spec)
        become(spec)
        call("prctl", SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        execute(spec, spec["command"])
    (folder / "pid").write_text(f"{child}\n")
    (folder / "exit").write_text(f"{status_of(os.waitpid(child, 0)[1])}\n")


def run_inside(folder, spec, command):
    pid = (folder / "pid").read_text().strip()
    for name in ("net", "ipc", "uts", "pid", "mnt"):
        with open(f"/proc/{pid}/ns/{name}") as namespace:
            call("setns", namespace.fileno(), 0)
    child = os.fork()
    if child == 0:
        become(spec)
        execute(spec, command)
    return status_of(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    place = Path(sys.argv[2])
    said = json.loads((place / "spec.json").read_text())
    if sys.argv[1] == "start":
        try:
            start(place, said)
        finally:
            # An engine that waits learns of a start that failed, too.
            if not (place / "exit").exists():
                (place / "exit").write_text("125\n")
    else:
        sys.exit(run_inside(place, said, sys.argv[3:]))
