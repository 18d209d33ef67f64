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
authority, key, apple_key = (files / name for name in ("authority.pem", "authority.key", "AuthKey.p8"))
for command in (
    f"req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=authority -keyout {key} -out {authority}",
    f"genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {apple_key}",
):
    subprocess.run(["openssl", *command.split()], check=True, capture_output=True)
authorities = "/etc/gatehouse/authorities"
verified = f"sslmode=verify-full&sslrootcert={authorities}/postgresql.pem"
outside = {
    f"{name.upper()}_DATABASE_URL": f"postgres://{name}:secret@db.example.com/{name}?{verified}"
    for name in ("identity", "tokens", "devices")
}
outside["REDIS_URL"] = f"rediss://redis.example.com?sslrootcert={authorities}/redis.pem"
outside["APPLE_PRIVATE_KEY_FILE"] = str(apple_key)


def documents(*command):
    environment = os.environ | outside
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return [each for each in yaml.safe_load_all(output) if each]


def check(overlay):
    objects = documents(kubectl, "kustomize", root / overlay) + documents(root / "secrets.sh", overlay)
    data = {
        (each["kind"], each["metadata"]["name"]): {
            name: value if each["kind"] == "ConfigMap" else base64.b64decode(value).decode()
            for name, value in each["data"].items()
        }
        for each in objects
        if each["kind"] in ("ConfigMap", "Secret")
    }
    # An operator makes these.
    data["ConfigMap", "certificate-authorities"] = dict.fromkeys(("postgresql.pem", "redis.pem"), authority.read_text())
    data["Secret", "gateway-tls"] = {"tls.crt": authority.read_text(), "tls.key": key.read_text()}
    for each in objects:
        pod = each.get("spec", {}).get("template", {}).get("spec")
        if each["kind"] != "Deployment" or "gatehouse/" not in pod["containers"][0]["image"]:
            continue
        name, container = each["metadata"]["name"], pod["containers"][0]
        folder = files / overlay / name
        settings = {}
        for source in container.get("envFrom", []):
            settings |= data["ConfigMap", source["configMapRef"]["name"]]
        for entry in container.get("env", []):
            reference = entry.get("valueFrom", {}).get("secretKeyRef")
            secret = data.get(("Secret", reference["name"]), {}) if reference else {}
            if not reference or not reference.get("optional") or reference["key"] in secret:
                settings[entry["name"]] = secret[reference["key"]] if reference else entry["value"]
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        for mount in container.get("volumeMounts", []):
            volume = volumes[mount["name"]]
            secret, config = volume.get("secret"), volume.get("configMap")
            content = (
                data["Secret", secret["secretName"]] if secret else data["ConfigMap", config["name"]] if config else {}
            )
            for file, value in content.items():
                path = folder / mount["mountPath"].lstrip("/") / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(value)
                path.chmod(0o600)
        settings = {
            name: value.replace("/etc/gatehouse", f"{folder}/etc/gatehouse") for name, value in settings.items()
        }
        result = subprocess.run([binaries / name, "check-config"], env=settings, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"deploy/kubernetes/{overlay}: {name} check-config:\n{result.stderr}{result.stdout}")


for overlay in ("production", "development"):
    check(overlay)
