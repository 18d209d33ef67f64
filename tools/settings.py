"""settings.py [--check] BINARIES   writes the lists of docs/reference/settings.md and metrics.md from what each service
prints for `describe --json`; with --check it fails where they are out of date. What is above the marker stays."""

import json
import subprocess
import sys
from pathlib import Path

MARKER = "<!-- tools/settings.py writes what follows. -->\n"
SERVICES = ["gateway", "identity", "tokens", "devices"]
UNBOUNDED = 2**31 - 1


def describe(program):
    return json.loads(subprocess.run([program, "describe", "--json"], env={}, check=True, capture_output=True).stdout)


def values(setting):
    low, high = setting.get("minimum", 0), setting.get("maximum", UNBOUNDED)
    limits = f"{low} to {high}" if high < UNBOUNDED else f"from {low}" if low else ""
    choices = ", ".join(f"`{choice}`" for choice in setting.get("choices", ["true", "false"]))
    kinds = {"integer": "", "number": "decimals", "urls": "list of URLs", "url": "URL", "address": "host:port"}
    kind = (kinds | {"choice": choices, "boolean": choices}).get(setting["kind"], setting["kind"])
    secret = "secret" if setting["secret"] else ""
    return ", ".join(filter(None, [setting.get("unit"), limits, kind, secret]))


def default(setting):
    mark = "" if setting["kind"] in ("integer", "number") else "`"
    usual = "required" if setting["required"] else mark + setting["default"] + mark if "default" in setting else "–"
    development = setting.get("developmentDefault")
    return usual + (f"; development: {mark}{development}{mark}" if development else "")


def setting_text(name, settings, meaning):
    """A heading of its own, so that a search leads to it."""
    defaults = {service: default(setting) for service, setting in settings.items()}
    each = ", ".join(f"{service} {text}" for service, text in defaults.items())
    setting = next(iter(settings.values()))
    usual = default(setting) if len(set(defaults.values())) == 1 else each
    return f"\n### `{name}`\n\n**{usual}** ({values(setting)}): {meaning}\n"


def metric_text(name, metrics, meaning):
    metric = next(iter(metrics.values()))
    name = f"{name}{{{','.join(metric['labels'])}}}".replace("{}", "")
    return f"| `{name}` | {metric['kind']} | {meaning} |\n"


def sections(services, kind, text, head, write):
    """What three services or more have alike, then a section for each service."""
    entries = {}
    for service, description in services.items():
        for entry in description[kind]:
            name = entry["name"].replace(service.upper(), "<SERVICE>", 1) if kind == "settings" else entry["name"]
            entries.setdefault((name, entry[text]), {})[service] = entry
    texts = {title: [] for title in ["Every service", *services]}
    for (name, meaning), group in sorted(entries.items()):
        if len(group) > 2:
            some = f" ({', '.join(group)})" if len(group) < len(services) else ""
            texts["Every service"].append(write(name, group, meaning + some))
        else:
            for service, entry in group.items():
                texts[service].append(write(entry["name"], {service: entry}, meaning))
    for title, lines in texts.items():
        yield f"\n## {title}\n{head}{''.join(lines)}"


binaries, folder = Path(sys.argv[-1]), Path(__file__).resolve().parents[1] / "docs/reference"
described = {service: describe(binaries / service) for service in SERVICES}
for page, *form in (
    ("settings.md", "settings", "meaning", "", setting_text),
    ("metrics.md", "metrics", "help", "\n| metric | kind | meaning |\n| --- | --- | --- |\n", metric_text),
):
    old = (folder / page).read_text()
    new = old.split(MARKER)[0] + MARKER + "".join(sections(described, *form))
    if new != old and "--check" in sys.argv:
        sys.exit(f"docs/reference/{page} is out of date: python3 tools/settings.py {binaries}")
    (folder / page).write_text(new)
