"""plan.py STATE < MANIFESTS: what each host of `make test-network` is given, from built manifests and their secrets.

A host stands for a pod of the manifests, or for somebody outside of them. Writes for each, under STATE/hosts/NAME:

    address     its IPv4 address
    rules.nft   its firewall: what the NetworkPolicies that select the pod leave open (pods alone)
    etc         what is laid over its /etc: hosts, and what the pod mounts under /etc/gatehouse
    environment, command, program   what the container is told, its arguments, which binary it runs (pods alone)
    memory      the MiB that it requests (pods alone)

and STATE/expected.json: for each pair of hosts and each port whether a connection may be made.
"""

import base64
import json
import os
import sys
from ipaddress import ip_address, ip_network
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "parts"))
from manifests import Manifests, edges, selects  # noqa: E402

# Who is outside of the manifests: address, namespace and labels of a pod, names in the hosts file, and what the
# policies' edges call it. The networks are those of production/network.yaml.
OUTSIDE = {
    "postgresql": {"address": "10.20.0.5", "names": ["db.example.com"], "edge": ["postgresql"]},
    "redis": {"address": "10.20.1.5", "names": ["redis.example.com"], "edge": ["redis"]},
    "apple": {"address": "17.253.0.5", "names": ["appleid.apple.com"], "edge": ["apple"]},
    "client": {"address": "203.0.113.7", "edge": ["apple"]},
    "neighbour": {"address": "10.20.2.5", "edge": []},
    "stranger": {"address": "10.1.9.9", "namespace": "default", "labels": {}, "edge": []},
    "shop": {
        "address": "10.1.8.8",
        "namespace": "shop",
        "labels": {"gatehouse/upstream": "true"},
        "names": ["orders.shop"],
        "edge": ["any namespace gatehouse/upstream=true"],
    },
    "name-server": {
        "address": "10.1.7.7",
        "namespace": "kube-system",
        "labels": {"k8s-app": "kube-dns"},
        "edge": ["kube-system k8s-app=kube-dns"],
    },
}
NAMESPACE = "gatehouse"
# The group of the services' user, by which it reads what is mounted.
GROUP = 10001
MORE_PORTS = ["1/TCP", "22/TCP", "53/TCP", "53/UDP", "80/TCP", "443/TCP", "5432/TCP", "6379/TCP", "65535/TCP"]


class Plan:
    def __init__(self, manifests, state):
        self.manifests, self.folder = manifests, Path(state) / "hosts"
        self.pods = {pod.name: pod for pod in manifests.workloads()}
        numbers = count(1)
        self.addresses = {name: f"10.1.0.{next(numbers)}" for name in sorted(self.pods)}
        self.addresses |= {name: host["address"] for name, host in OUTSIDE.items()}
        self.secrets = {
            each["metadata"]["name"]: {key: base64.b64decode(value) for key, value in each["data"].items()}
            for each in manifests.all("Secret")
        }

    def write(self):
        for name, address in self.addresses.items():
            self.put(name, "address", address + "\n")
            self.put(name, "etc/hosts", self.hosts_file())
            if name in self.pods:
                self.put(name, "rules.nft", self.rules(self.pods[name]))
                self.container(self.pods[name])
        self.put("..", "expected.json", json.dumps(self.expected()))

    def put(self, name, file, content):
        path = self.folder / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def hosts_file(self):
        """In place of a name server: Services lead to the pod behind them."""
        lines = ["127.0.0.1 localhost"]
        for service in self.manifests.all("Service"):
            for name, pod in self.pods.items():
                if selects({"matchLabels": service["spec"]["selector"]}, pod.labels):
                    lines.append(f"{self.addresses[name]} {service['metadata']['name']}")
        for name, host in OUTSIDE.items():
            lines += [f"{host['address']} {each}" for each in host.get("names", [])]
        lines.append(f"{self.addresses['gateway']} auth.example.com")
        return "\n".join(lines) + "\n"

    # The container

    def container(self, pod):
        container = pod.pod["containers"][0]
        settings, _ = pod.plain_settings(container)
        for name, (secret, key, optional) in pod.secret_settings(container).items():
            if key in self.secrets[secret] or not optional:
                settings[name] = self.secrets[secret][key].decode()
        self.put(pod.name, "environment", "".join(f"{name}={value}\n" for name, value in sorted(settings.items())))
        self.put(pod.name, "command", "\n".join(container["args"]) + "\n")
        self.put(pod.name, "program", pod.service + "\n")
        self.put(pod.name, "memory", container["resources"]["requests"]["memory"].removesuffix("Mi") + "\n")
        for volume, source in pod.volumes("secret"):
            self.mount(pod, volume, self.secrets[source["secretName"]], source.get("defaultMode", 0o644))
        for volume, source in pod.volumes("configMap"):
            data = self.manifests.named("ConfigMap", source["name"])["data"]
            self.mount(pod, volume, {key: value.encode() for key, value in data.items()}, 0o644)

    def mount(self, pod, volume, files, mode):
        path = pod.mount_path(volume)
        if not path.startswith("/etc/"):
            sys.exit(f"plan.py: {pod.name} mounts {path}, which is not under /etc")
        for key, content in files.items():
            file = self.put(pod.name, f"{path[1:]}/{key}", content)
            os.chown(file, 0, GROUP)
            file.chmod(mode)

    # The firewall

    def rules(self, pod):
        """Established connections, the pod itself, and what a policy allows; the rest is dropped."""
        lines = ["table inet policies {"]
        for direction, hook, peers, side in (
            ("Ingress", "input", "from", "saddr"),
            ("Egress", "output", "to", "daddr"),
        ):
            policies = [
                policy
                for policy in self.manifests.policies()
                if selects(policy["spec"]["podSelector"], pod.labels) and direction in policy["spec"]["policyTypes"]
            ]
            # A pod that no policy selects is open.
            verdict = "drop" if policies else "accept"
            lines += [
                f"  chain {hook} {{",
                f"    type filter hook {hook} priority filter; policy {verdict};",
                "    ct state established,related accept",
                "    iifname lo accept" if hook == "input" else "    oifname lo accept",
            ]
            for policy in policies:
                for rule in policy["spec"].get(direction.lower()) or []:
                    addresses = [text for peer in rule.get(peers) or [None] for text in self.peer(peer, side)]
                    for address in addresses:
                        for port in self.port(rule):
                            lines.append("    " + " ".join(each for each in (address, port, "accept") if each))
            lines.append("  }")
        return "\n".join(lines + ["}"]) + "\n"

    def peer(self, peer, side):
        """Matches of a peer's addresses; an empty one is anybody."""
        if peer is None:
            return [""]
        if "ipBlock" in peer:
            block = peer["ipBlock"]
            family = "ip6" if ip_network(block["cidr"]).version == 6 else "ip"
            text = f"{family} {side} {block['cidr']}"
            if block.get("except"):
                text += f" {family} {side} != {{ {', '.join(block['except'])} }}"
            return [text]
        found = [
            self.addresses[name]
            for name, namespace, labels in self.everybody()
            if selects(peer.get("podSelector") or {}, labels)
            and (
                selects(peer["namespaceSelector"], {"kubernetes.io/metadata.name": namespace})
                if "namespaceSelector" in peer
                else namespace == NAMESPACE
            )
        ]
        return [f"ip {side} {{ {', '.join(found)} }}"] if found else []

    def everybody(self):
        """All pods, those outside of the manifests too: name, namespace, labels."""
        yield from ((name, NAMESPACE, pod.labels) for name, pod in self.pods.items())
        yield from ((name, host["namespace"], host["labels"]) for name, host in OUTSIDE.items() if "namespace" in host)

    def port(self, rule):
        texts = []
        for port in rule.get("ports") or []:
            end = f"-{port['endPort']}" if "endPort" in port else ""
            texts.append(f"{port.get('protocol', 'TCP').lower()} dport {port['port']}{end}")
        return texts or [""]

    # What must hold, told from the edges that `make lint` compares with the table in README.md.

    def expected(self):
        allowed, _ = edges(self.manifests)
        ports = {f"{port}/TCP" for pod in self.pods.values() for port in pod.ports().values()} | set(MORE_PORTS)
        return [
            {
                "from": source,
                "to": target,
                "address": self.addresses[target],
                "ports": {port: self.may(allowed, source, target, port) for port in sorted(ports)},
            }
            for source in self.addresses
            for target in self.addresses
            # Two hosts of which none is a pod of ours are not our concern.
            if source != target and (source in self.pods or target in self.pods)
        ]

    def may(self, allowed, source, target, port):
        number, protocol = port.split("/")
        texts = ("every", number if protocol == "TCP" else f"{number}/{protocol}")
        callers = [source] if source in self.pods else ["anybody"]
        callees = [target] if target in self.pods else OUTSIDE[target]["edge"]
        return any((caller, callee, text) in allowed for caller in callers for callee in callees for text in texts)


if __name__ == "__main__":
    os.umask(0o022)
    Plan(Manifests(sys.stdin.read()), sys.argv[1]).write()
