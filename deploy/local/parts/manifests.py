"""Reads built Kubernetes manifests: workloads, what their containers are given, and what NetworkPolicies allow.

Shared by the checks of `make lint` and by `make test-network`.
"""

import subprocess

import yaml

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job")


class Manifests:
    """The output of `kubectl kustomize`."""

    def __init__(self, text):
        self.objects = [each for each in yaml.safe_load_all(text) if each]

    @classmethod
    def build(cls, kubectl, folder):
        result = subprocess.run([kubectl, "kustomize", str(folder)], capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(f"{folder} cannot be built: {result.stderr.strip()}")
        return cls(result.stdout)

    def all(self, *kinds):
        return [each for each in self.objects if each["kind"] in kinds]

    def named(self, kind, name):
        found = [each for each in self.all(kind) if each["metadata"]["name"] == name]
        return found[0] if found else None

    def workloads(self):
        return [Workload(each, self) for each in self.all(*WORKLOADS)]

    def policies(self):
        return self.all("NetworkPolicy")


class Workload:
    """A Deployment, StatefulSet or Job, and its pods."""

    def __init__(self, manifest, manifests):
        self.manifest = manifest
        self.manifests = manifests
        self.kind = manifest["kind"]
        self.name = manifest["metadata"]["name"]
        self.pod = manifest["spec"]["template"]["spec"]
        self.labels = manifest["spec"]["template"]["metadata"]["labels"]
        self.component = self.labels.get("app.kubernetes.io/component")

    @property
    def containers(self):
        return self.pod.get("initContainers", []) + self.pod["containers"]

    @property
    def service(self):
        """Which of Gatehouse's programs it runs, or None."""
        image = self.pod["containers"][0]["image"].split(":")[0]
        return image.split("/")[-1] if "gatehouse/" in image else None

    def plain_settings(self, container):
        """NAME: value of what stands in the manifests, and the names of ConfigMaps that are not there."""
        values, missing = {}, []
        for source in container.get("envFrom", []):
            name = source["configMapRef"]["name"]
            config = self.manifests.named("ConfigMap", name)
            if config is None:
                missing.append(name)
            else:
                values.update(config["data"])
        for entry in container.get("env", []):
            if "value" in entry:
                values[entry["name"]] = entry["value"]
            else:
                values.pop(entry["name"], None)
        return values, missing

    def secret_settings(self, container):
        """NAME: (secret, key, optional) of what stands in secrets."""
        found = {}
        for entry in container.get("env", []):
            reference = entry.get("valueFrom", {}).get("secretKeyRef")
            if reference:
                found[entry["name"]] = (reference["name"], reference["key"], reference.get("optional", False))
        return found

    def volumes(self, kind):
        """Volumes of one kind ("secret", "configMap", "emptyDir"): name and source."""
        return [(each["name"], each[kind]) for each in self.pod.get("volumes", []) if kind in each]

    def mount_path(self, volume):
        paths = [
            mount["mountPath"]
            for container in self.containers
            for mount in container.get("volumeMounts", [])
            if mount["name"] == volume
        ]
        return paths[0] if paths else None

    def ports(self):
        return {port["name"]: port["containerPort"] for each in self.containers for port in each.get("ports", [])}


def selects(selector, labels):
    """Whether a label selector takes these labels. An empty one takes all."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for rule in selector.get("matchExpressions") or []:
        key, operator, values = rule["key"], rule["operator"], rule.get("values", [])
        holds = {
            "In": lambda: labels.get(key) in values,
            "NotIn": lambda: labels.get(key) not in values,
            "Exists": lambda: key in labels,
            "DoesNotExist": lambda: key not in labels,
        }[operator]()
        if not holds:
            return False
    return True


def port_texts(rule):
    """The ports of a rule: `8081`, `53/UDP`, `8090-8093`; `every` where it names none."""
    texts = []
    for port in rule.get("ports") or []:
        text = str(port.get("port", "every"))
        if "endPort" in port:
            text += f"-{port['endPort']}"
        protocol = port.get("protocol", "TCP")
        texts.append(text if protocol == "TCP" else f"{text}/{protocol}")
    return texts or ["every"]


def peer_names(peer, policy, pods):
    """Whom a peer of a rule stands for: pods of these manifests by their name, others by what selects them. A peer that
    is a network has the name of its policy."""
    if "ipBlock" in peer:
        return [policy["metadata"]["name"]]
    selector = peer.get("podSelector")
    if "namespaceSelector" not in peer:
        return [pod.name for pod in pods if selects(selector, pod.labels)] or [f"pods {selector}"]
    namespaces = peer["namespaceSelector"].get("matchLabels") or {}
    name = namespaces.get("kubernetes.io/metadata.name", "any namespace" if not namespaces else str(namespaces))
    labels = (selector or {}).get("matchLabels") or {}
    return [" ".join([name] + [f"{key}={value}" for key, value in sorted(labels.items())])]


def edges(manifests):
    """All that the NetworkPolicies allow, as (from, to, port), and what only one of two sides allows.

    Between two pods a connection needs the egress of the one and the ingress of the other.
    """
    pods = manifests.workloads()
    names = {pod.name for pod in pods}
    egress, ingress = set(), set()
    findings = []
    for pod in pods:
        for direction in ("Ingress", "Egress"):
            if not any(
                direction in policy["spec"]["policyTypes"] and selects(policy["spec"]["podSelector"], pod.labels)
                for policy in manifests.policies()
            ):
                findings.append(f"no NetworkPolicy holds the {direction} of {pod.name}: everything is allowed")
    for policy in manifests.policies():
        spec = policy["spec"]
        selected = [pod for pod in pods if selects(spec["podSelector"], pod.labels)]
        if not selected and pods:
            findings.append(f"the NetworkPolicy {policy['metadata']['name']} selects no pod")
        # Rules of a direction that policyTypes does not name count for nothing.
        for rule in spec.get("egress") or [] if "Egress" in spec["policyTypes"] else []:
            for peer in rule.get("to") or [None]:
                others = ["anybody"] if peer is None else peer_names(peer, policy, pods)
                egress |= {(pod.name, to, port) for pod in selected for to in others for port in port_texts(rule)}
        for rule in spec.get("ingress") or [] if "Ingress" in spec["policyTypes"] else []:
            for peer in rule.get("from") or [None]:
                others = ["anybody"] if peer is None else peer_names(peer, policy, pods)
                ingress |= {(of, pod.name, port) for pod in selected for of in others for port in port_texts(rule)}
    for edge in sorted(egress):
        if edge[1] in names and edge not in ingress:
            findings.append("{} may call {} on port {}, which does not let it in".format(*edge))
    for edge in sorted(ingress):
        if edge[0] in names and edge not in egress:
            findings.append("{2} of {1} is open to {0}, which may not call it".format(*edge))
    allowed = {edge for edge in egress if edge[1] not in names or edge in ingress}
    allowed |= {edge for edge in ingress if edge[0] not in names}
    return allowed, findings
