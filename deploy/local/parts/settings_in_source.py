"""Which settings a service reads, from its source: `settings.string("clientID")` of tokens is TOKENS_CLIENT_ID."""

import re
from pathlib import Path

# What every service reads besides its own; the simulator lies elsewhere than the services.
SHARED = ["Shared/ServiceKit", "Shared/Settings"]
DATABASE = "Shared/ServiceKitPostgres"
ELSEWHERE = {"apple-simulator": "Tests/AppleSimulator/Sources"}

# Whom a key may be put together with.
PEERS = "(GATEWAY|IDENTITY|TOKENS|DEVICES|INTROSPECTION|EVENTS|ADMIN|BOUNCES)"

LITERAL = re.compile(r'"((?:\\\(\w[\w.]*\))?[A-Za-z][A-Za-z0-9]*)"')
# A call that notes a problem where the setting is missing: these readers, without a default that holds in production.
CALL = re.compile(
    r'(?<![A-Za-z])(?:string|strings|secret|url|urls|int|file|secretFile|keys)\(\s*"(\w+)"((?:[^()]|\([^()]*\))*)\)'
)
MAYBE = re.compile(r'\.optional\w+\("(\w+)"')
CALLERS = re.compile(r'credentials\(\s*ofCallers:((?:\s*"\w+",?)+)')


class KnownSettings:
    """The names that a service knows, and those that production needs as far as one line of the source says so.

    What it needs in all is for the service itself to say: `make test-network` starts it with what the manifests give.
    """

    def __init__(self, root, service):
        self.prefix = service.upper().replace("-", "_") + "_"
        own = read(Path(root) / ELSEWHERE.get(service, f"Services/{service}/Sources"))
        shared = "\n".join(read(Path(root) / folder) for folder in SHARED)
        if "DatabaseConfiguration(settings:" in own:
            shared += read(Path(root) / DATABASE)
        # A key that is put together (`"\(owner.rawValue)URL"`) is known for every one of these.
        self.known = [
            re.compile(PEERS + "_" + upper_snake(key.split(")")[1]) if key.startswith("\\") else upper_snake(key))
            for key in LITERAL.findall(own + shared)
        ]
        optional = set(MAYBE.findall(own))
        self.required = {
            self.prefix + upper_snake(key)
            for key, rest in CALL.findall(own + shared)
            if key not in optional and ("default:" not in rest or re.search(r"default:.*\bnil\b", rest, re.S))
        }
        for callers in CALLERS.findall(own):
            self.required |= {f"{self.prefix}{caller.upper()}_CREDENTIALS" for caller in re.findall(r"\w+", callers)}

    def knows(self, name):
        for prefix in (self.prefix, "GATEHOUSE_"):
            if name.startswith(prefix) and any(key.fullmatch(name[len(prefix) :]) for key in self.known):
                return True
        return False


def read(folder):
    """The source of all files that have to do with settings, without comments."""
    texts = (re.sub(r"(?m)(^|\s)//.*", "", file.read_text()) for file in sorted(folder.rglob("*.swift")))
    return "\n".join(text for text in texts if re.search(r"\b[sS]ettings\b|SettingName", text))


def upper_snake(key):
    """As SettingName.upperSnake: a word begins where an upper-case letter follows a lower-case one."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).upper()
