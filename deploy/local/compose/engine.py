"""engine.py STATE COMMAND…: what docker-compose.yml says, without an engine: each service in the root of its image, in
namespaces of its own. Needs root, and buildah with the images.

    up [SERVICE…]                   starts the graph, or a part with what it needs, in its order and waiting as it says
    run [--entrypoint WORD] SERVICE [WORD…]   one container more, in the foreground, as `docker compose run --rm`
    exec SERVICE WORD…              a command in a container that runs
    down [--volumes]                stops all, in the reverse order; removes namespaces and roots

STATE/settings.json names the file, its `.env`, the folder from which its paths begin, and how buildah is called.
Restarts, memory limits and log drivers are the engine's own affairs and are not played here.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "parts"))
from compose import Compose, ComposeError, duration, read_env_file  # noqa: E402

HERE = Path(__file__).resolve().parent
# What a container may do as root unless the file takes it away.
DEFAULT_CAPABILITIES = (
    "CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE NET_RAW SYS_CHROOT MKNOD AUDIT_WRITE"
    " SETFCAP"
).split()
PREFIX = "gatehouse-compose-"
# Who is not of the file: this machine, and another one on its network.
HOST, WORLD = PREFIX + "host", PREFIX + "world"
HOST_ADDRESS, WORLD_ADDRESS = "203.0.113.1", "203.0.113.7"


def sh(*command, **options):
    return subprocess.run([str(each) for each in command], check=True, **options)


def output(*command):
    return sh(*command, stdout=subprocess.PIPE, text=True).stdout.strip()


def note(text):
    print(f"    {text}", flush=True)


class Engine:
    def __init__(self, state):
        self.state = Path(state)
        settings = json.loads((self.state / "settings.json").read_text())
        self.buildah = settings["buildah"]
        self.compose = Compose(settings["file"], read_env_file(settings["env"], {}), settings["folder"])
        self.containers, self.volumes = self.state / "containers", self.state / "volumes"
        self.graph = self.compose.active()

    # Images and roots

    def image(self, service):
        return json.loads(output(*self.buildah, "inspect", "--type", "image", service.image))["OCIv1"]["config"]

    def root(self, name, service):
        container = f"compose-{name}"
        output(*self.buildah, "from", "--pull-never", "--name", container, service.image)
        return Path(output(*self.buildah, "mount", container))

    # Networks: a bridge each, and on it an address for every service that the file puts there.

    def addresses(self):
        """{service: {network: address}}, the same in every call."""
        found = {name: {} for name in self.compose.services}
        for number, network in enumerate(self.compose.networks, start=30):
            members = [name for name, each in self.compose.services.items() if network in each.networks]
            for position, name in enumerate(members, start=2):
                found[name][network] = f"172.30.{number}.{position}"
        return found

    def make_networks(self):
        addresses = self.addresses()
        for namespace in (HOST, WORLD):
            self.make_namespace(namespace)
        self.link(HOST, "world", HOST_ADDRESS, WORLD, "eth0", WORLD_ADDRESS)
        for number, (network, said) in enumerate(self.compose.networks.items(), start=30):
            switch = f"{PREFIX}net-{network}"
            self.make_namespace(switch)
            sh("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
            sh("ip", "-n", switch, "link", "set", "bridge", "up")
            if not said.get("internal"):
                # This machine has the first address of what is not internal, and is the way out.
                self.plug(HOST, f"out{number}", f"172.30.{number}.1/24", switch)
        for service in self.graph:
            if not addresses[service.name]:
                continue
            namespace = PREFIX + service.name
            self.make_namespace(namespace)
            for position, (network, address) in enumerate(addresses[service.name].items()):
                self.plug(namespace, f"eth{position}", address + "/24", f"{PREFIX}net-{network}")
                if not self.compose.networks[network].get("internal"):
                    gateway = address.rsplit(".", 1)[0] + ".1"
                    sh("ip", "-n", namespace, "route", "add", "default", "via", gateway)

    def make_namespace(self, name):
        sh("ip", "netns", "add", name)
        sh("ip", "-n", name, "link", "set", "lo", "up")

    def plug(self, namespace, device, address, switch):
        port = f"port{len(output('ip', '-n', switch, '-br', 'link').splitlines())}"
        sh("ip", "link", "add", device, "netns", namespace, "type", "veth", "peer", "name", port, "netns", switch)
        sh("ip", "-n", namespace, "address", "add", address, "dev", device)
        sh("ip", "-n", namespace, "link", "set", device, "up")
        sh("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")

    def link(self, one, device, address, other, other_device, other_address):
        sh("ip", "link", "add", device, "netns", one, "type", "veth", "peer", "name", other_device, "netns", other)
        for namespace, name, own in ((one, device, address), (other, other_device, other_address)):
            sh("ip", "-n", namespace, "address", "add", own + "/24", "dev", name)
            sh("ip", "-n", namespace, "link", "set", name, "up")

    def hosts_file(self, service):
        """In place of the engine's name server: who shares a network has a name."""
        lines = ["127.0.0.1 localhost"]
        running = {each.name for each in self.graph}
        for name, networks in self.addresses().items():
            for network, address in networks.items():
                if network in service.networks and name in running:
                    lines.append(f"{address} {name}")
        return "\n".join(lines) + "\n"

    def publish(self, service):
        inner = [
            address
            for network, address in self.addresses()[service.name].items()
            if not self.compose.networks[network].get("internal")
        ]
        for address, port, target in service.ports:
            if not inner:
                raise ComposeError(f"{service.name} publishes a port, and no network of it leads outside")
            forward = [sys.executable, HERE / "forward.py", address, str(port), inner[0], str(target)]
            forwarder = subprocess.Popen(
                ["ip", "netns", "exec", HOST, *forward],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            with open(self.state / "forwarders", "a") as file:
                file.write(f"{forwarder.pid}\n")

    # Containers

    def start(self, name, service, command=None, entrypoint=None):
        """Starts a container and returns its folder and the process that waits for it."""
        folder = self.containers / name
        folder.mkdir(parents=True)
        image, root = self.image(service), self.root(name, service)
        environment = dict(each.split("=", 1) for each in image.get("Env", []))
        user = self.user(service.content.get("user") or image.get("User", ""), root)
        environment |= {"HOSTNAME": name, "HOME": user[2]} | service.environment()
        words = entrypoint or service.entrypoint or image.get("Entrypoint") or []
        # An entrypoint of the file's own leaves the image's command out.
        default = [] if entrypoint or service.entrypoint else image.get("Cmd") or []
        words = words + (command or service.command or default)
        (folder / "hosts").write_text(self.hosts_file(service))
        mounts = [{"source": str(folder / "hosts"), "target": "/etc/hosts", "read_only": True}]
        for volume in service.volumes:
            source = volume.path or self.volume(volume, root)
            mounts.append({"source": str(source), "target": volume.target, "read_only": volume.read_only})
        capabilities = [] if service.cap_drop == ["ALL"] else list(DEFAULT_CAPABILITIES)
        spec = {
            "name": name,
            "root": str(root),
            "read_only": service.read_only,
            "mounts": mounts,
            "tmpfs": service.tmpfs,
            "network": PREFIX + service.name if service.networks else None,
            "command": words,
            "environment": environment,
            "working_folder": image.get("WorkingDir") or "/",
            "user": user[:2],
            "capabilities": capabilities + service.cap_add,
            "no_new_privileges": service.no_new_privileges,
        }
        (folder / "spec.json").write_text(json.dumps(spec, indent=2))
        return folder

    def launch(self, folder, **streams):
        return subprocess.Popen(
            [sys.executable, HERE / "container.py", "start", folder], start_new_session=True, **streams
        )

    def user(self, text, root):
        """(user id, group id, home) of `10001:10001`, `postgres`, or nothing, which is root."""
        name, _, group = (text or "0").partition(":")
        for line in (root / "etc/passwd").read_text().splitlines():
            fields = line.split(":")
            if name in (fields[0], fields[2]):
                return int(fields[2]), int(group or fields[3]), fields[5]
        return int(name), int(group or 0), "/"

    def volume(self, volume, root):
        """A named volume; a new one begins with what the image has there."""
        folder = self.volumes / volume.name
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            if (root / volume.target[1:]).is_dir():
                sh("cp", "-a", root / volume.target[1:], folder)
            else:
                folder.mkdir()
        return folder

    def log(self, name):
        return self.containers / name / "log"

    def status(self, name):
        file = self.containers / name / "exit"
        return int(file.read_text()) if file.exists() and file.read_text().strip() else None

    def fail(self, name, what):
        log = self.log(name)
        tail = "\n".join(log.read_text().splitlines()[-25:]) if log.exists() else ""
        raise ComposeError(f"{name} {what}\n--- the end of its log ---\n{tail}\n---")

    def up(self, only):
        graph = self.compose.needed(only) if only else self.graph
        self.make_networks()
        for service in graph:
            for other, condition in service.depends_on.items():
                self.await_condition(self.compose.services[other], condition, service)
            folder = self.start(service.name, service)
            with open(folder / "log", "w") as log:
                self.launch(folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.publish(service)
        for service in graph:
            if service.health:
                self.await_condition(service, "service_healthy")
                note(f"{service.name} is healthy")
            elif service.content.get("restart") is None:
                self.await_condition(service, "service_completed_successfully")
                note(f"{service.name} has ended with 0")

    def await_condition(self, service, condition, waiting=None):
        name, whom = service.name, f", for which {waiting.name} waits" if waiting else ""
        if condition == "service_completed_successfully":
            deadline = time.monotonic() + 120
            while self.status(name) is None:
                if time.monotonic() > deadline:
                    self.fail(name, f"does not end{whom}")
                time.sleep(0.05)
            if self.status(name) != 0:
                self.fail(name, f"ended with {self.status(name)}{whom}")
        elif condition == "service_healthy":
            if (self.containers / name / "healthy").exists():
                return
            health = service.health
            for _ in range(int(health.get("retries", 3)) + 1):
                time.sleep(duration(health.get("interval", "30s")))
                if self.status(name) is not None:
                    self.fail(name, f"ended with {self.status(name)}{whom}")
                result = self.probe(name, health)
                if result == 0:
                    (self.containers / name / "healthy").touch()
                    return
            self.fail(name, f"is not healthy{whom}")

    def probe(self, name, health):
        kind, *command = health["test"]
        if kind != "CMD":
            raise ComposeError(f"{name}: a health check that is not CMD is not read here")
        limit = duration(health.get("timeout", "30s"))
        probe = self.inside(name, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return probe.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(probe.pid, signal.SIGKILL)
            probe.wait()
            return None

    def inside(self, name, command, **options):
        return subprocess.Popen(
            [sys.executable, HERE / "container.py", "exec", self.containers / name, *command], **options
        )

    def run(self, words):
        entrypoint = None
        if words[0] == "--entrypoint":
            entrypoint, words = [words[1]], words[2:]
        service, name = self.compose.services[words[0]], f"{words[0]}-run"
        folder = self.start(name, service, command=words[1:] or None, entrypoint=entrypoint)
        try:
            self.launch(folder).wait()
            return self.status(name)
        finally:
            self.remove(name)

    def remove(self, name):
        sh(*self.buildah, "rm", f"compose-{name}", stdout=subprocess.DEVNULL)
        shutil.rmtree(self.containers / name)

    def down(self, volumes):
        """Each is asked to end, as its image says, and given the time that the file says. True if all did."""
        clean = True
        order = [each.name for each in reversed(self.graph)]
        for name in order:
            folder = self.containers / name
            if not (folder / "pid").exists():
                continue
            service = self.compose.services[name]
            if self.status(name) is None:
                number = getattr(signal, self.image(service).get("StopSignal") or "SIGTERM")
                pid, began = int((folder / "pid").read_text()), time.monotonic()
                os.kill(pid, number)
                while self.status(name) is None and time.monotonic() - began < service.grace:
                    time.sleep(0.05)
                if self.status(name) is None:
                    os.kill(pid, signal.SIGKILL)
                    while self.status(name) is None:
                        time.sleep(0.05)
                    note(f"{name} did not end within {service.grace:g} s and was killed")
                    clean = False
                elif self.status(name) != 0:
                    note(f"{name} ended with {self.status(name)}")
                    clean = False
        forwarders = self.state / "forwarders"
        if forwarders.exists():
            for pid in forwarders.read_text().split():
                command = Path(f"/proc/{pid}/cmdline")
                if command.exists() and b"forward.py" in command.read_bytes():
                    os.kill(int(pid), signal.SIGTERM)
            forwarders.unlink()
        for line in output("ip", "netns", "list").splitlines():
            if line.startswith(PREFIX):
                sh("ip", "netns", "delete", line.split()[0])
        for line in json.loads(output(*self.buildah, "containers", "--json") or "null") or []:
            if line["containername"].startswith("compose-"):
                sh(*self.buildah, "rm", line["id"], stdout=subprocess.DEVNULL)
        shutil.rmtree(self.containers, ignore_errors=True)
        if volumes:
            shutil.rmtree(self.volumes, ignore_errors=True)
        return clean


def main():
    state, command, *words = sys.argv[1:]
    engine = Engine(state)
    if command == "up":
        engine.up(words)
    elif command == "run":
        return engine.run(words)
    elif command == "exec":
        return engine.inside(words[0], words[1:]).wait()
    elif command == "down":
        return 0 if engine.down("--volumes" in words) else 1
    else:
        raise ComposeError(f"{shlex.join([command])} is no command")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ComposeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
