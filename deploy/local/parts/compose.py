"""Reads docker-compose.yml as Compose does: variables, profiles, env files, short and long forms.

Shared by the checks of `make lint` and by `make test-compose`. Knows of the specification what the file uses, and
refuses the rest, so that nothing of the file is passed over.
"""

import re
from pathlib import Path

import yaml

# What a service may say here.
KEYS = set(
    "build cap_add cap_drop command cpu_shares depends_on entrypoint env_file environment healthcheck image logging"
    " mem_limit network_mode networks ports profiles pull_policy read_only restart security_opt stop_grace_period tmpfs"
    " volumes".split()
)
VARIABLE = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)(?:(:?[-?+])((?:[^{}]|\{[^{}]*\})*))?\})")


class ComposeError(Exception):
    pass


def interpolate(text, variables):
    """`$$`, `$A`, `${A}`, `${A:-default}`, `${A:?message}`, `${A:+other}`; without the colon an empty value counts."""

    def value(match):
        dollar, plain, name, operator, word = match.groups()
        if dollar:
            return "$"
        name = plain or name
        found = variables.get(name)
        there = found is not None and (found != "" or not (operator or "").startswith(":"))
        kind = (operator or "")[-1:]
        if kind == "?" and not there:
            raise ComposeError(f"required variable {name} is missing a value: {interpolate(word, variables)}")
        if kind == "-" and not there:
            return interpolate(word, variables)
        if kind == "+":
            return interpolate(word, variables) if there else ""
        return found or ""

    return VARIABLE.sub(value, text)


def interpolated(node, variables):
    if isinstance(node, dict):
        return {key: interpolated(each, variables) for key, each in node.items()}
    if isinstance(node, list):
        return [interpolated(each, variables) for each in node]
    return interpolate(node, variables) if isinstance(node, str) else node


def read_env_file(path, variables):
    """KEY=VALUE lines; `#` begins a comment. Variables are replaced but within single quotes."""
    values = {}
    for line in Path(path).read_text().splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, _, value = line.partition("=")
        value = value.strip()
        if value[:1] == "'" and value[-1:] == "'" and len(value) > 1:
            values[name.strip()] = value[1:-1]
            continue
        quoted = value[:1] == '"' and value[-1:] == '"' and len(value) > 1
        value = value[1:-1] if quoted else re.split(r"\s#", value)[0].strip()
        values[name.strip()] = interpolate(value, {**variables, **values})
    return values


def duration(text):
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|h|m|s)", str(text)))


def used_variables(text):
    """Every `${NAME…}` of the file: name, operator, word."""
    lines = (re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    return [
        (match.group(2) or match.group(3), match.group(4) or "", match.group(5) or "")
        for match in VARIABLE.finditer("\n".join(lines))
        if not match.group(1)
    ]


class Compose:
    """The file, with the variables of `.env`."""

    def __init__(self, file, variables, folder=None):
        self.file, self.variables = Path(file), variables
        # Where paths begin that the file names.
        self.folder = Path(folder or self.file.parent)
        raw = yaml.safe_load(self.file.read_text())
        raw = {key: value for key, value in raw.items() if not key.startswith("x-")}
        content = interpolated(raw, variables)
        self.name = content["name"]
        self.networks = {name: network or {} for name, network in content["networks"].items()}
        self.volumes = list(content["volumes"])
        self.services = {name: Service(name, each, self) for name, each in content["services"].items()}
        self.check()

    def check(self):
        for service in self.services.values():
            for network in service.networks:
                if network not in self.networks:
                    raise ComposeError(f"{service.name} is in the network {network}, which is not declared")
            for volume in service.volumes:
                if volume.name is not None and volume.name not in self.volumes:
                    raise ComposeError(f"{service.name} mounts the volume {volume.name}, which is not declared")
            for other in service.depends_on:
                if other not in self.services:
                    raise ComposeError(f"{service.name} depends on {other}, which is no service")

    def profiles(self):
        return {each for each in self.variables.get("COMPOSE_PROFILES", "").split(",") if each}

    def active(self):
        """What `docker compose up` starts: each after those that it depends on."""
        return self.needed(
            name for name, each in self.services.items() if not each.profiles or each.profiles & self.profiles()
        )

    def needed(self, names):
        """These, each after those that it depends on."""
        ordered = []

        def add(name, above=()):
            if name in above:
                raise ComposeError(f"{name} depends on itself")
            if name not in ordered:
                for other in self.services[name].depends_on:
                    add(other, (*above, name))
                ordered.append(name)

        for name in names:
            add(name)
        return [self.services[name] for name in ordered]


class Volume:
    """`name:/path[:ro]`, or a path of this machine in place of the name."""

    def __init__(self, text, compose):
        source, self.target, *options = text.split(":")
        self.read_only = "ro" in options
        is_path = source.startswith((".", "/"))
        self.name = None if is_path else source
        self.path = (compose.folder / source).resolve() if is_path else None


class Service:
    def __init__(self, name, content, compose):
        unknown = set(content) - KEYS
        if unknown:
            raise ComposeError(f"{name}: {', '.join(sorted(unknown))} is not read here")
        self.name, self.content, self.compose = name, content, compose
        self.image = content["image"]
        self.entrypoint, self.command = words(content, "entrypoint", name), words(content, "command", name)
        self.profiles = set(content.get("profiles", []))
        self.volumes = [Volume(text, compose) for text in content.get("volumes", [])]
        self.networks = list(content.get("networks", ["default"] if "network_mode" not in content else []))
        self.read_only = content.get("read_only", False)
        self.tmpfs = content.get("tmpfs", [])
        self.no_new_privileges = "no-new-privileges:true" in content.get("security_opt", [])
        self.cap_drop, self.cap_add = content.get("cap_drop", []), content.get("cap_add", [])
        self.grace = duration(content.get("stop_grace_period", "10s"))
        self.health = content.get("healthcheck")
        depends = content.get("depends_on", {})
        self.depends_on = {
            other: depends[other]["condition"] if isinstance(depends, dict) else "service_started" for other in depends
        }
        # (address of this machine, its port, the container's)
        self.ports = []
        for text in content.get("ports", []):
            *address, outer, inner = text.split(":")
            self.ports.append((address[0] if address else "0.0.0.0", int(outer), int(inner)))

    @property
    def program(self):
        """Which of Gatehouse's images it runs, or None."""
        image = self.image.split(":")[0]
        return image.removeprefix("gatehouse/") if image.startswith("gatehouse/") else None

    def given(self):
        """What stands in `environment`."""
        return {key: "" if value is None else str(value) for key, value in self.content.get("environment", {}).items()}

    def env_files(self):
        """(path, whether it must be there)"""
        for each in self.content.get("env_file", []):
            each = {"path": each} if isinstance(each, str) else each
            yield self.compose.folder / each["path"], each.get("required", True)

    def environment(self):
        """With the env files, over which `environment` goes."""
        values = {}
        for path, required in self.env_files():
            if required or path.exists():
                values |= read_env_file(path, self.compose.variables)
        return values | self.given()


def words(content, key, name):
    value = content.get(key)
    if value is not None and not isinstance(value, list):
        raise ComposeError(f"{name}: {key} is a text, which a shell would read: write a list")
    return None if value is None else [str(each) for each in value]
