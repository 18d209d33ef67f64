"""kubernetes_settings.py KUBECTL BINARIES   gives `check-config` of each service what the manifests and secrets.sh give
the service's pod: settings, secrets, and mounted files."""

import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

root = Path(__file__).resolve().parents[2] / "deploy/kubernetes"
kubectl, binaries = sys.argv[1], Path(sys.argv[2])
temporary = tempfile.TemporaryDirectory()
files = Path(temporary.name)
certificate, key = files / "certificate.pem", files / "key.pem"
request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost"
command = ["openssl", *request.split(), "-keyout", key, "-out", certificate]
subprocess.run(command, check=True, capture_output=True)
authorities = "/etc/gatehouse/authorities"
verified = f"sslmode=verify-full&sslrootcert={authorities}/postgresql.pem"
outside = {
    f"{name.upper()}_DATABASE_URL": f"postgres://{name}:secret@db.example.com/{name}?{verified}"
    for name in ("identity", "tokens", "devices")
}
outside["REDIS_URL"] = f"rediss://redis.example.com?sslrootcert={authorities}/redis.pem"
outside["APPLE_PRIVATE_KEY_FILE"] = str(key)
# An operator makes these.
made_by_hand = {
    "certificate-authorities": dict.fromkeys(("postgresql.pem", "redis.pem"), certificate.read_text()),
    "gateway-tls": {"tls.crt": certificate.read_text(), "tls.key": key.read_text()},
}


def documents(*command):
    environment = os.environ | outside
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return [each for each in yaml.safe_load_all(output) if each]


def content(document):
    """What a ConfigMap or a Secret holds."""
    if document["kind"] == "ConfigMap":
        return document["data"]
    return {name: base64.b64decode(value).decode() for name, value in document["data"].items()}


def settings_of(container, data):
    settings = {}
    for source in container.get("envFrom", []):
        settings |= data[source["configMapRef"]["name"]]
    for entry in container.get("env", []):
        reference = entry.get("valueFrom", {}).get("secretKeyRef")
        if not reference:
            settings[entry["name"]] = entry["value"]
        elif not reference.get("optional") or reference["key"] in data.get(reference["name"], {}):
            settings[entry["name"]] = data[reference["name"]][reference["key"]]
    return settings


def write_mounts(pod, data, folder):
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    for mount in pod["containers"][0].get("volumeMounts", []):
        volume = volumes[mount["name"]]
        source = volume.get("secret", {}).get("secretName") or volume.get("configMap", {}).get("name")
        for file, value in data[source].items() if source else ():
            path = folder / mount["mountPath"].lstrip("/") / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value)
            path.chmod(0o600)


for overlay in ("production", "development"):
    objects = documents(kubectl, "kustomize", root / overlay) + documents(root / "secrets.sh", overlay)
    data = {each["metadata"]["name"]: content(each) for each in objects if each["kind"] in ("ConfigMap", "Secret")}
    data |= made_by_hand
    for deployment in objects:
        pod = deployment.get("spec", {}).get("template", {}).get("spec")
        if deployment["kind"] != "Deployment" or "gatehouse/" not in pod["containers"][0]["image"]:
            continue
        name = deployment["metadata"]["name"]
        folder = files / overlay / name
        write_mounts(pod, data, folder)
        settings = settings_of(pod["containers"][0], data)
        settings = {key: value.replace("/etc/gatehouse", f"{folder}/etc/gatehouse") for key, value in settings.items()}
        result = subprocess.run([binaries / name, "check-config"], env=settings, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"deploy/kubernetes/{overlay}: {name} check-config:\n{result.stderr}{result.stdout}")
