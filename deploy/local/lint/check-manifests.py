"""check-manifests.py KUBECTL VERSIONS ROOT [VARIANT]: builds every variant of deploy/kubernetes, or one, and holds it to
the schemas of these versions of Kubernetes, to the services' source, to the tables of docs/operations/install.md, to
what `restricted` allows, and to the arithmetic of a drain. Prints what is wrong.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "parts"))
from kubernetes_schemas import flaws  # noqa: E402
from manifests import Manifests, edges, selects  # noqa: E402
from settings_in_source import KnownSettings  # noqa: E402

# Overlay, components instead of (or beside) those that its file names: the choices that install.md offers.
VARIANTS = {
    "development": ("development", []),
    "production": ("production", ["load-balancer"]),
    "production with ingress": ("production", ["ingress"]),
    "production with gateway-api": ("production", ["gateway-api"]),
    "production with service-monitors": ("production", ["load-balancer", "service-monitors"]),
    "production with traces": ("production", ["load-balancer", "traces"]),
    "production with all that goes together": ("production", ["ingress", "service-monitors", "traces"]),
}
# Manifests that are no installation of Gatehouse: for their schemas alone.
OTHERS = ["deploy/examples/orders/kubernetes"]
SERVICES = ["gateway", "identity", "tokens", "devices"]
SECRET_SETTING = "(CREDENTIALS?|SECRET|PASSWORD|SIGNING_KEY|DATABASE_URL|REDIS_URL)$"
# MiB that a hashing thread needs, and a service with nothing to do.
HASHING_MEMORY, IDLE = "19456", 64


class Check:
    def __init__(self, kubectl, versions, root):
        self.kubectl, self.versions, self.root = kubectl, versions.split(), Path(root)
        self.findings = []
        self.page = (self.root / "docs/operations/install.md").read_text()
        self.settings = {name: KnownSettings(root, name) for name in SERVICES + ["apple-simulator"]}
        self.ports = {name: self.default_port(name) for name in SERVICES}
        number = (self.root / "Shared/Settings/GatehouseVersion.swift").read_text()
        self.version = re.search(r'number = "([^"]+)"', number).group(1)
        boot = (self.root / "Shared/ServiceKit/Boot/ServiceProcess.swift").read_text()
        self.drain = int(re.search(r"static let delay = Duration\.seconds\((\d+)\)", boot).group(1))

        pool = (self.root / "Shared/Postgres/Pool/PostgresPool.swift").read_text()
        self.pool = int(re.search(r"maximumConnections = (\d+)", pool).group(1))

    def default_port(self, name):
        source = (self.root / f"Services/{name}/Sources/Application.swift").read_text()
        return int(re.search(r"defaultPort = (\d+)", source).group(1))

    def find(self, where, what):
        self.findings.append(f"{where}: {what}")

    def run(self, only=None):
        with tempfile.TemporaryDirectory() as folder:
            for variant, (overlay, components) in VARIANTS.items():
                if only not in (None, variant):
                    continue
                manifests = self.build(Path(folder) / variant.replace(" ", "-"), overlay, components)
                if manifests is None:
                    continue
                self.check_schemas(variant, manifests)
                self.check_settings(variant, manifests)
                self.check_ports(variant, manifests)
                self.check_pods(variant, manifests)
                self.check_references(variant, manifests)
                self.check_secrets(variant, manifests)
                self.check_edges(variant, manifests, [overlay] + components)
                if overlay == "production":
                    self.check_production(variant, manifests)
                else:
                    self.check_development(variant, manifests)
        self.check_variants()
        if only is None:
            for folder in OTHERS:
                self.check_schemas(folder, Manifests.build(self.kubectl, self.root / folder))
            self.check_secret_script()
        return self.findings

    def check_variants(self):
        """Whatever can be built is a variant here, or a part of one."""
        folder = self.root / "deploy/kubernetes"
        built = {overlay for overlay, _ in VARIANTS.values()}
        built |= {f"components/{name}" for _, names in VARIANTS.values() for name in names}
        for file in sorted(folder.rglob("kustomization.yaml")):
            name = str(file.parent.relative_to(folder))
            if name not in built and name.split("/")[0] != "base":
                self.find(name, "is in no variant that is checked: see VARIANTS in check-manifests.py")
        span = f"Kubernetes {self.versions[0]} to {self.versions[-1]}"
        if span not in " ".join(self.page.split()):
            self.find("install.md", f"does not say that the manifests are checked for {span}")

    def check_schemas(self, where, manifests):
        for flaw in flaws(manifests.objects, self.versions):
            self.find(where, flaw)

    def build(self, folder, overlay, components):
        """A copy, with these components where the overlay names some."""
        shutil.copytree(self.root / "deploy/kubernetes", folder / "deploy/kubernetes")
        shutil.copytree(self.root / "deploy/postgres", folder / "deploy/postgres")
        file = folder / f"deploy/kubernetes/{overlay}/kustomization.yaml"
        lines = file.read_text().splitlines()
        if "components:" in lines:
            lines = [line for line in lines if not line.startswith("  - ../components/")]
            at = lines.index("components:") + 1
            lines[at:at] = [f"  - ../components/{name}" for name in components]
            file.write_text("\n".join(lines) + "\n")
        try:
            return Manifests.build(self.kubectl, file.parent)
        except RuntimeError as error:
            self.find(overlay, f"with {components}: {error}")
            return None

    # Settings

    def check_settings(self, variant, manifests):
        issuers = {}
        for workload in manifests.workloads():
            if workload.service is None:
                continue
            known = self.settings[workload.service]
            container = workload.pod["containers"][0]
            plain, missing = workload.plain_settings(container)
            for name in missing:
                self.find(variant, f"{workload.name} reads the ConfigMap {name}, which is not there")
            given = {**plain, **workload.secret_settings(container)}
            for name in sorted(given):
                if not known.knows(name):
                    self.find(variant, f"{workload.name} is given {name}, which no source of {workload.service} reads")
            needed = known.required
            if workload.component == "migration":
                needed = {f"{known.prefix}DATABASE_URL"}
            for name in sorted(needed - set(given)):
                self.find(variant, f"{workload.name} is not given {name}, which it needs")
            for name in sorted(given):
                if name in plain and re.search(SECRET_SETTING, name):
                    self.find(variant, f"{workload.name} has {name} in plain text: it belongs into a secret")
            for name, value in plain.items():
                if name.endswith("_FILE") and workload.component == "service":
                    paths = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
                    if not any(value.startswith(path + "/") for path in paths):
                        self.find(variant, f"{name} of {workload.name} names {value}, where nothing is mounted")
            if "GATEHOUSE_ENVIRONMENT" not in plain:
                self.find(variant, f"{workload.name} is not told GATEHOUSE_ENVIRONMENT")
            if workload.component == "service" and workload.service in ("gateway", "tokens"):
                issuers[workload.service] = plain.get(known.prefix + "ISSUER")
            threads = int(plain.get("IDENTITY_HASHING_THREADS", 0))
            each = int(plain.get("IDENTITY_HASHING_MEMORY", HASHING_MEMORY)) / 1024
            limit = container["resources"]["limits"]["memory"]
            if threads * each + IDLE > int(limit.removesuffix("Mi")):
                self.find(variant, f"{workload.name}: {threads} hashing threads do not fit into {limit}")
        if len(set(issuers.values())) > 1:
            self.find(variant, f"gateway and tokens differ in the issuer: {issuers}")

    # Ports

    def check_ports(self, variant, manifests):
        pods = {workload.name: workload for workload in manifests.workloads()}
        for name, port in self.ports.items():
            workload = pods[name]
            plain, _ = workload.plain_settings(workload.pod["containers"][0])
            expected = {"http": port, "admin": port + 10}
            if workload.ports() != expected:
                self.find(variant, f"{name} has the ports {workload.ports()}, its source says {expected}")
            for setting, number in (("LISTEN_ADDRESS", port), ("ADMIN_LISTEN_ADDRESS", port + 10)):
                if plain.get(f"{name.upper()}_{setting}") != f"0.0.0.0:{number}":
                    self.find(variant, f"{name.upper()}_{setting} is not 0.0.0.0:{number}")
        for service in manifests.all("Service"):
            name, spec = service["metadata"]["name"], service["spec"]
            behind = [each for each in pods.values() if selects({"matchLabels": spec["selector"]}, each.labels)]
            if len(behind) != 1:
                self.find(variant, f"the Service {name} leads to {len(behind)} workloads, not to one")
                continue
            for port in spec["ports"]:
                target = port.get("targetPort", port["port"])
                if target not in behind[0].ports() and target not in behind[0].ports().values():
                    self.find(variant, f"the Service {name} leads to port {target}, which {behind[0].name} has not")
                admin_ports = ["admin"] + [each + 10 for each in self.ports.values()]
                if spec.get("type", "ClusterIP") != "ClusterIP" and target in admin_ports:
                    self.find(variant, f"the Service {name} opens an admin port to the outside")
        for workload in pods.values():
            for container in workload.pod["containers"]:
                plain, _ = workload.plain_settings(container)
                for setting, value in plain.items():
                    for host, port in re.findall(r"\bhttp://([a-z-]+):(\d+)", value):
                        service = manifests.named("Service", host)
                        if service is None or int(port) not in [each["port"] for each in service["spec"]["ports"]]:
                            address = f"{host}:{port}"
                            self.find(variant, f"{setting} of {workload.name} names {address}, which no Service has")

    # Pods

    def check_pods(self, variant, manifests):
        for workload in manifests.workloads():
            name, pod = workload.name, workload.pod
            security = pod.get("securityContext", {})
            rules = [
                (pod.get("automountServiceAccountToken") is False, "mounts the service account's token"),
                (security.get("runAsNonRoot") is True, "may run as root"),
                (security.get("runAsUser", 0) > 0, "names no user"),
                (security.get("seccompProfile", {}).get("type") == "RuntimeDefault", "has no seccomp profile"),
                (not any(pod.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")), "uses the host's namespaces"),
                (
                    all(
                        set(volume) & {"secret", "configMap", "emptyDir", "persistentVolumeClaim"}
                        for volume in pod.get("volumes", [])
                    ),
                    "mounts a volume of a kind that restricted refuses",
                ),
            ]
            for container in workload.containers:
                own = container.get("securityContext", {})
                rules += [
                    (own.get("allowPrivilegeEscalation") is False, "may gain privileges"),
                    (not own.get("privileged"), "is privileged"),
                    (own.get("readOnlyRootFilesystem") is True, "may write its root"),
                    (own.get("capabilities") == {"drop": ["ALL"]}, "has capabilities"),
                    (not own.get("runAsUser") and own.get("runAsNonRoot") is not False, "has a user of its own"),
                    (not any("hostPort" in port for port in container.get("ports", [])), "opens a port of the host"),
                    (
                        all(
                            set(container.get("resources", {}).get(kind, {})) == {"cpu", "memory"}
                            for kind in ("requests", "limits")
                        ),
                        "has no requests or no limits of CPU and memory",
                    ),
                ]
            for volume, source in workload.volumes("secret"):
                if source.get("defaultMode", 0o644) & 0o007:
                    rules.append((False, f"lets everybody read the secret {source['secretName']}"))
            if workload.component == "service":
                rules += self.service_rules(workload)
            for holds, what in rules:
                if not holds:
                    self.find(variant, f"{name} {what}")

    def service_rules(self, workload):
        pod, container = workload.pod, workload.pod["containers"][0]
        plain, _ = workload.plain_settings(container)
        grace = int(plain.get(f"{workload.service.upper()}_SHUTDOWN_GRACE", 20))
        before = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        needed = before + self.drain + grace + 5
        probe = {
            kind: container.get(f"{kind}Probe", {}).get("httpGet") for kind in ("startup", "liveness", "readiness")
        }
        spread = pod.get("topologySpreadConstraints", [])
        rolling = workload.manifest["spec"].get("strategy", {}).get("rollingUpdate", {})
        return [
            (before >= 8, f"serves on for {before} s only when it is told to stop: names are kept for up to 7"),
            (
                pod.get("terminationGracePeriodSeconds", 30) >= needed,
                f"is killed after {pod.get('terminationGracePeriodSeconds', 30)} s, its drain may take {needed}",
            ),
            (probe["startup"] == {"path": "/livez", "port": "admin"}, "has no startup probe on its admin port"),
            (probe["liveness"] == {"path": "/livez", "port": "admin"}, "has no liveness probe on its admin port"),
            (probe["readiness"] == {"path": "/readyz", "port": "admin"}, "has no readiness probe on its admin port"),
            ({each["topologyKey"] for each in spread} >= {"kubernetes.io/hostname"}, "is not spread over hosts"),
            (rolling.get("maxUnavailable") == 0, "is rolled out by taking a replica away"),
            (container["args"] == ["serve"], "does not serve"),
        ]

    def check_references(self, variant, manifests):
        """What is mounted is there, or comes from outside by a name that install.md has."""
        for workload in manifests.workloads():
            names = {volume["name"] for volume in workload.pod.get("volumes", [])}
            names |= {each["metadata"]["name"] for each in workload.manifest["spec"].get("volumeClaimTemplates", [])}
            for container in workload.containers:
                for mount in container.get("volumeMounts", []):
                    if mount["name"] not in names:
                        self.find(variant, f"{workload.name} mounts {mount['name']}, which is no volume")
            for _, source in workload.volumes("configMap"):
                if not manifests.named("ConfigMap", source["name"]) and source["name"] not in self.page:
                    self.find(variant, f"{workload.name} mounts the ConfigMap {source['name']}, which nobody makes")

    def check_production(self, variant, manifests):
        for name in SERVICES:
            deployment = manifests.named("Deployment", name)
            if "replicas" in deployment["spec"]:
                self.find(variant, f"{name} names its replicas, which are the autoscaler's")
            scaler = manifests.named("HorizontalPodAutoscaler", name)
            if not scaler or scaler["spec"]["scaleTargetRef"]["name"] != name or scaler["spec"]["minReplicas"] < 2:
                self.find(variant, f"no autoscaler keeps two replicas or more of {name}")
            budget = manifests.named("PodDisruptionBudget", name)
            labels = deployment["spec"]["template"]["metadata"]["labels"]
            if not budget or not selects(budget["spec"]["selector"], labels):
                self.find(variant, f"no disruption budget covers {name}")
        for workload in manifests.workloads():
            image = workload.pod["containers"][0]["image"]
            if not image.endswith(f":{self.version}"):
                self.find(variant, f"{workload.name} runs {image}: not this version")
            plain, _ = workload.plain_settings(workload.pod["containers"][0])
            if plain.get("GATEHOUSE_ENVIRONMENT") != "production":
                self.find(variant, f"{workload.name} does not run for production")
        # For each replica, for one more during a rollout, and 4 for migrate, doctor and psql.
        limits = [
            (manifests.named("HorizontalPodAutoscaler", name)["spec"]["maxReplicas"] + 1) * self.pool + 4
            for name in ("identity", "tokens", "devices")
        ]
        text = "`CONNECTION LIMIT` of {}, {} and {}".format(*limits)
        if text not in " ".join(self.page.split()):
            self.find(variant, f"roles need connections for the autoscalers' maxima: install.md should say “{text}”")
        namespace = manifests.named("Namespace", "gatehouse")["metadata"]["labels"]
        if namespace.get("pod-security.kubernetes.io/enforce") != "restricted":
            self.find(variant, "the namespace does not enforce restricted pods")

    def check_development(self, variant, manifests):
        """The roles' limits are those of one replica each, and PostgreSQL has room for all of them."""
        limit = 2 * self.pool + 4
        scripts = [each["data"].get("databases.sh", "") for each in manifests.all("ConfigMap")]
        if not any(f"-v connections={limit} " in script for script in scripts):
            self.find(variant, f"databases.sh should give each role {limit} connections")
        container = manifests.named("StatefulSet", "postgresql")["spec"]["template"]["spec"]["containers"][0]
        maximum = [word for word in container.get("args", []) if word.startswith("max_connections=")]
        if not maximum or int(maximum[0].partition("=")[2]) < 3 * limit + 10:
            self.find(variant, f"PostgreSQL has no room for three roles with {limit} connections, and administrators")

    # Tables of install.md

    def table(self, *columns):
        """The rows under these column names, as lists of texts."""
        head = "| " + " | ".join(columns) + " |"
        if head not in self.page:
            raise SystemExit(f"docs/operations/install.md has no table with the columns {columns}")
        rows = []
        for line in self.page.split(head, 1)[1].splitlines()[2:]:
            if not line.startswith("|"):
                break
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        return rows

    def secrets_table(self):
        return {
            name: ({key.strip() for key in keys.split(",")}, {user.strip() for user in users.split(",")})
            for name, keys, users in self.table("secret", "keys", "used by")
        }

    def check_secrets(self, variant, manifests):
        table = self.secrets_table()
        for workload in manifests.workloads():
            used = []
            for container in workload.containers:
                used += [(name, key) for name, key, _ in workload.secret_settings(container).values()]
                for source in container.get("envFrom", []):
                    if "secretRef" in source:
                        self.find(variant, f"{workload.name} takes a whole secret into its environment")
            plain, _ = workload.plain_settings(workload.pod["containers"][0])
            for volume, source in workload.volumes("secret"):
                path = workload.mount_path(volume)
                keys = [value[len(path) + 1 :] for value in plain.values() if path and value.startswith(path + "/")]
                used += [(source["secretName"], key) for key in keys or [None]]
            for secret, key in used:
                keys, users = table.get(secret, (set(), set()))
                if workload.name not in users:
                    self.find(variant, f"{workload.name} uses the secret {secret}: install.md does not allow that")
                elif key is not None and key not in keys:
                    self.find(variant, f"{workload.name} uses {secret}'s key {key}, which install.md does not name")
        if variant == "production":
            for workload in manifests.workloads():
                has = any(source["secretName"] == "tokens-signing-key" for _, source in workload.volumes("secret"))
                if has != (workload.name == "tokens"):
                    self.find(variant, f"the signing key belongs to tokens alone, not to {workload.name}")

    def check_secret_script(self):
        """secrets.sh makes the secrets of the table, with its keys, but for those that come from outside."""
        script = self.root / "deploy/kubernetes/secrets.sh"
        result = subprocess.run([str(script), "development"], capture_output=True, text=True)
        if result.returncode != 0:
            self.find("secrets.sh", result.stderr.strip())
            return
        made = {each["metadata"]["name"]: set(each["data"]) for each in Manifests(result.stdout).all("Secret")}
        for name, (keys, _) in self.secrets_table().items():
            if name not in ("gateway-tls", "traces") and made.get(name) != keys:
                self.find("secrets.sh", f"makes {made.get(name)} of {name}, install.md says {keys}")
        for name in set(made) - set(self.secrets_table()):
            self.find("secrets.sh", f"makes {name}, which install.md does not name")

    def check_edges(self, variant, manifests, where):
        expected = set()
        for sources, targets, ports, place, _ in self.table("from", "to", "port", "where", "why"):
            if place and place not in where:
                continue
            names = [each.strip() for each in sources.split(",")]
            if names == ["every pod"]:
                names = [workload.name for workload in manifests.workloads()]
            for source in names:
                for target in (each.strip() for each in targets.split(",")):
                    expected |= {(source, target, port.strip()) for port in ports.split(",")}
        allowed, findings = edges(manifests)
        for finding in findings:
            self.find(variant, finding)
        for edge in sorted(allowed - expected):
            self.find(variant, "the policies let {} call {} on port {}, install.md does not".format(*edge))
        for edge in sorted(expected - allowed):
            self.find(variant, "the policies do not let {} call {} on port {}, install.md does".format(*edge))


if __name__ == "__main__":
    found = Check(*sys.argv[1:4]).run(*sys.argv[4:])
    for line in found:
        print(f"deploy/kubernetes: {line}", file=sys.stderr)
    sys.exit(1 if found else 0)
