"""check-compose.py ROOT: holds docker-compose.yml and the scripts that belong to it to the services' source, and its
networks to who may call whom. Prints what is wrong.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "parts"))
from compose import Compose, ComposeError, read_env_file, used_variables  # noqa: E402
from settings_in_source import ELSEWHERE, KnownSettings  # noqa: E402

SERVICES = ["gateway", "identity", "tokens", "devices"]
# MiB that a hashing thread needs, and a service with nothing to do.
HASHING_MEMORY, IDLE = "19456", 64
# What docs/operations/install.md calls them, in its table of allowed connections.
NAMES = {"postgresql": "postgres"} | {f"{name}-migration": f"{name}-migrate" for name in SERVICES}
# Rows of that table for what is in the cluster, and for the simulator; the others are about the cluster's edge.
PLACES = ["", "development"]
# What an installation cannot do without, and nobody but its operator knows.
TO_FILL_IN = {"TOKENS_ISSUER": "https://auth.example.com", "TOKENS_CLIENT_ID": "com.example.app"}


class Check:
    def __init__(self, root):
        self.root, self.findings = Path(root), []
        self.file = self.root / "docker-compose.yml"
        self.settings = {name: KnownSettings(root, name) for name in SERVICES + ["apple-simulator"]}
        self.page = (self.root / "docs/operations/install.md").read_text()

    def find(self, what):
        self.findings.append(what)

    def run(self):
        for environment in ("development", "production"):
            variables = self.secrets(environment)
            if variables is None:
                continue
            try:
                compose = Compose(self.file, variables)
            except ComposeError as error:
                self.find(f"with secrets.sh {environment}: {error}")
                continue
            self.check_settings(compose)
            self.check_ports(compose)
            self.check_images(compose)
            self.check_containers(compose)
            self.check_networks(compose)
            if environment == "production":
                self.check_apple(variables)
        self.check_version()
        self.check_variables()
        return self.findings

    def secrets(self, environment):
        """What secrets.sh makes: every variable that the file must have."""
        script = self.root / "deploy/compose/secrets.sh"
        result = subprocess.run([str(script), environment], capture_output=True, text=True)
        if result.returncode != 0:
            self.find(f"secrets.sh {environment}: {result.stderr.strip()}")
            return None
        with tempfile.NamedTemporaryFile("w", suffix=".env") as file:
            file.write(result.stdout)
            file.flush()
            variables = read_env_file(file.name, {})
        used = used_variables(self.file.read_text())
        for name in sorted({name for name, operator, _ in used if operator == ":?"}):
            if name not in variables:
                self.find(f"secrets.sh {environment} does not make {name}, which docker-compose.yml must have")
            elif not variables[name] and name not in TO_FILL_IN:
                self.find(f"secrets.sh {environment} leaves {name} empty, which docker-compose.yml must have")
        for name in sorted(set(variables) - {name for name, _, _ in used} - {"COMPOSE_PROFILES"}):
            self.find(f"secrets.sh {environment} makes {name}, which docker-compose.yml does not use")
        for name, value in TO_FILL_IN.items():
            variables[name] = variables.get(name) or value
        return variables

    # Settings

    def check_settings(self, compose):
        for service in compose.services.values():
            if service.program not in self.settings:
                continue
            known, given = self.settings[service.program], service.given()
            for name in sorted(given):
                if not known.knows(name):
                    self.find(f"{service.name} is given {name}, which no source of {service.program} reads")
            # signing-keys needs the file of its keys alone.
            needed = {"TOKENS_SIGNING_KEY_FILE"} if service.entrypoint else known.required
            for name in sorted((needed | {"GATEHOUSE_ENVIRONMENT"}) - {name for name, value in given.items() if value}):
                self.find(f"{service.name} is not given {name}, which it needs")
            for name, value in given.items():
                if name.endswith("_FILE") and value:
                    if not any(value.startswith(volume.target + "/") for volume in service.volumes):
                        self.find(f"{name} of {service.name} names {value}, where nothing is mounted")
            if service.program in SERVICES:
                files = [(path.name, required) for path, required in service.env_files()]
                if files != [(f"{service.program}.env", False)]:
                    self.find(f"{service.name} reads {files}, not {service.program}.env where it is there")
        migrations = [name for name in compose.services if name.endswith("-migrate")]
        for name in migrations:
            if compose.services[name].given() != compose.services[name.removesuffix("-migrate")].given():
                self.find(f"{name} is not given what its service is given")
        issuers = {compose.services[name].given().get(f"{name.upper()}_ISSUER") for name in ("gateway", "tokens")}
        if len(issuers) > 1:
            self.find(f"gateway and tokens differ in the issuer: {issuers}")
        self.check_memory(compose)

    def check_memory(self, compose):
        identity = compose.services["identity"]
        threads = int(identity.given()["IDENTITY_HASHING_THREADS"])
        each = int(identity.given().get("IDENTITY_HASHING_MEMORY", HASHING_MEMORY)) / 1024
        limit = identity.content["mem_limit"]
        if threads * each + IDLE > int(limit.removesuffix("m")):
            self.find(f"identity: {threads} hashing threads do not fit into {limit}")
        for name in SERVICES:
            manifest = (self.root / f"deploy/kubernetes/base/{name}/deployment.yaml").read_text()
            expected = re.search(r"limits: \{.*memory: (\d+)Mi", manifest).group(1) + "m"
            if compose.services[name].content.get("mem_limit") != expected:
                self.find(f"mem_limit of {name} is not {expected}, which its deployment.yaml in Kubernetes has")

    def check_apple(self, variables):
        """Passwords alone, Apple without the team's key, and with it: identity takes all three of the key or none."""
        empty = {"IDENTITY_APPLE_TEAM_ID": "", "IDENTITY_APPLE_KEY_ID": ""}
        full = {"IDENTITY_APPLE_TEAM_ID": "TEAM", "IDENTITY_APPLE_KEY_ID": "KEY"}
        for case in (empty, full):
            given = Compose(self.file, variables | case).services["identity"].given()
            parts = [given.get(f"IDENTITY_APPLE_{part}", "") for part in ("TEAM_ID", "KEY_ID", "PRIVATE_KEY_FILE")]
            if [bool(part) for part in parts] != [bool(case["IDENTITY_APPLE_KEY_ID"])] * 3:
                self.find(f"identity is given a part of Apple's key, which needs all of it or none: {parts}")

    # Ports

    def default_port(self, name):
        folder = self.root / ELSEWHERE.get(name, f"Services/{name}/Sources")
        return int(re.search(r"defaultPort = (\d+)", (folder / "Application.swift").read_text()).group(1))

    def check_ports(self, compose):
        listening = {"postgres": {5432}, "redis": {6379}, "prometheus": {9090}, "grafana": {3000}}
        for name in SERVICES + ["apple-simulator"]:
            port, given = self.default_port(name), compose.services[name].given()
            prefix = self.settings[name].prefix
            for setting, number in (("LISTEN_ADDRESS", port), ("ADMIN_LISTEN_ADDRESS", port + 10)):
                if given.get(prefix + setting) != f"0.0.0.0:{number}":
                    self.find(f"{prefix}{setting} is not 0.0.0.0:{number}, which the source says")
            listening[name] = {port}
        for service in compose.services.values():
            for setting, value in service.given().items():
                for host, port in re.findall(r"\b(?:https?|postgres|redis)://(?:[^@/]*@)?([a-z-]+):(\d+)", value):
                    if int(port) not in listening.get(host, ()):
                        self.find(f"{setting} of {service.name} names {host}:{port}, where nobody listens")
                    elif host != service.name and not self.meet(service, compose.services[host]):
                        if not service.name.endswith("-migrate"):
                            self.find(f"{setting} of {service.name} names {host}, which shares no network with it")
            for address, outer, inner in service.ports:
                if inner not in listening.get(service.name, ()):
                    self.find(f"port {inner} of {service.name} is published, and nobody listens there")
                if address != "127.0.0.1":
                    self.find(f"{service.name} is published on {address}, not on this host's loopback address")
                if outer != inner:
                    self.find(f"port {inner} of {service.name} is published as {outer}: install.md says otherwise")

    # Containers

    def check_images(self, compose):
        """Compose refuses to build one tag twice, and asks a registry for an image that no service builds."""
        built = [service.content["image"] for service in compose.services.values() if "build" in service.content]
        for image in sorted(set(built)):
            if built.count(image) > 1:
                self.find(f"{image} is built by {built.count(image)} services")
        for service in compose.services.values():
            is_ours = service.content["image"].startswith("gatehouse/")
            if is_ours and "build" not in service.content and service.content.get("pull_policy") != "never":
                self.find(f"{service.name} would pull {service.content['image']}, which another service builds")

    def check_containers(self, compose):
        for service in compose.services.values():
            options = service.content.get("logging", {}).get("options", {})
            if not options.get("max-size") or not options.get("max-file"):
                self.find(f"the logs of {service.name} grow without a limit")
            if not service.no_new_privileges:
                self.find(f"{service.name} may gain privileges")
            if service.name not in ("postgres", "redis"):
                if not service.read_only:
                    self.find(f"{service.name} may write its root")
                if service.cap_drop != ["ALL"] or (service.cap_add and service.name != "keys"):
                    self.find(f"{service.name} has capabilities")
            mounts = {volume.name: volume for volume in service.volumes}
            if "tokens-keys" in mounts:
                if service.program != "tokens" and service.name != "keys":
                    self.find(f"{service.name} mounts tokens-keys: the signing key belongs to tokens alone")
                if not mounts["tokens-keys"].read_only and service.name not in ("keys", "signing-keys"):
                    self.find(f"{service.name} may write the keys of tokens")
            if "identity-keys" in mounts and service.program != "identity" and service.name != "keys":
                self.find(f"{service.name} mounts identity-keys, which belong to identity alone")
            for volume in service.volumes:
                if volume.path and not volume.path.exists():
                    self.find(f"{service.name} mounts {volume.path}, which is not there")
                if volume.path and not volume.read_only:
                    self.find(f"{service.name} may write {volume.path}")
            long_lived = service.content.get("restart") == "unless-stopped"
            if service.program in self.settings and long_lived:
                if (service.health or {}).get("test") != ["CMD", service.program, "health"]:
                    self.find(f"{service.name} does not ask `{service.program} health`")
            for other, condition in service.depends_on.items():
                if condition == "service_healthy" and not compose.services[other].health:
                    self.find(f"{service.name} waits for the health of {other}, which has no check")

    # Networks

    def meet(self, one, other):
        return bool(set(one.networks) & set(other.networks))

    def edges(self):
        """(caller, callee) of docs/operations/install.md, whose policies are held to DESIGN's calls."""
        text = (self.root / "docs/operations/install.md").read_text()
        head = "| from | to | port | where | why |"
        if head not in text:
            sys.exit("docs/operations/install.md has no table of allowed connections")
        for line in text.split(head, 1)[1].splitlines()[2:]:
            if not line.startswith("|"):
                break
            callers, callees, _, place, _ = (cell.strip() for cell in line.strip("|").split("|"))
            if place in PLACES:
                for caller in callers.split(","):
                    for callee in callees.split(","):
                        yield tuple(NAMES.get(name.strip(), name.strip()) for name in (caller, callee))

    def check_networks(self, compose):
        edges = {edge for edge in self.edges() if set(edge) <= set(compose.services)}
        for caller, callee in sorted(edges):
            if not self.meet(compose.services[caller], compose.services[callee]):
                self.find(f"{caller} calls {callee}, and shares no network with it")
        for name in ("postgres", "redis"):
            for other in compose.services.values():
                if other.name != name and self.meet(compose.services[name], other) and (other.name, name) not in edges:
                    self.find(f"{other.name} shares a network with {name}, which it does not call")
        for name, network in compose.networks.items():
            if bool(network.get("internal")) == (name == "outside"):
                self.find(f"the network {name} should {'' if name == 'outside' else 'not '}lead outside")
        allowed = {"gateway", "identity", "apple-simulator", "prometheus", "grafana", "otel-collector"}
        for service in compose.services.values():
            if "outside" in service.networks and service.name not in allowed:
                self.find(f"{service.name} is in the network that leads outside, and calls nobody there")
            if not service.networks and service.content.get("network_mode") != "none":
                self.find(f"{service.name} uses the network of this machine")

    # The version and the variables

    def check_version(self):
        source = (self.root / "Shared/Settings/GatehouseVersion.swift").read_text()
        version = re.search(r'number = "(.*)"', source).group(1)
        for name, operator, word in used_variables(self.file.read_text()):
            if name == "GATEHOUSE_VERSION" and (operator, word) != (":-", version):
                self.find(f"GATEHOUSE_VERSION is {word} unless it is set; the source says {version}")

    def check_variables(self):
        """install.md has every variable of the file, but the passwords and credentials that secrets.sh makes."""
        rows = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", self.page))
        for name in sorted({name for name, _, _ in used_variables(self.file.read_text())}):
            if not name.endswith(("_PASSWORD", "_CREDENTIAL")) and name not in rows:
                self.find(f"docs/operations/install.md does not tell of {name}")


if __name__ == "__main__":
    found = list(dict.fromkeys(Check(sys.argv[1]).run()))
    for line in found:
        print(f"docker-compose.yml: {line}", file=sys.stderr)
    sys.exit(1 if found else 0)
