"""Holds the papers to the code: links, names of files, tests, settings and make targets, decisions, versions, owners,
licences.

    documents.py [FOLDER]   FOLDER: another copy of the tree
"""
import os
import re
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "parts"))
from sbom import debian_packages  # noqa: E402
from settings_in_source import KnownSettings  # noqa: E402

# What builds and tools leave in the tree.
MADE = re.compile(r"\.(git|local|swiftpm|build.*)")
HEADINGS = ["Context", "Decision", "Consequences"]
MOST_WORDS = 200
OWNERS = "docs/services-of-your-own.md"
# Fetched by `make docs` alone, and in no program.
NOT_SHIPPED = {"swift-docc-plugin"}


def papers(root):
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if not MADE.fullmatch(name))
        yield from (Path(folder) / name for name in sorted(files) if name.endswith(".md"))


BLOCK = re.compile(r"(?ms)^\s*```(\w*)\n(.*?)^\s*```$")


def prose(text):
    """Without blocks of code."""
    return BLOCK.sub("", text)


def commands(text):
    """What stands in blocks for a shell, without its comments."""
    blocks = "\n".join(code for language, code in BLOCK.findall(text) if language in ("sh", "bash"))
    return re.sub(r"(?m)(^|\s)#.*", "", blocks)


def of_now(path, text):
    """Without what a changelog says of former versions and of what is gone."""
    if path.name != "CHANGELOG.md":
        return text
    text = re.sub(r"(?ms)^## \[\d.*?(?=^## [^\[]|\Z)", "", text)
    return re.sub(r"(?ms)^- \*\*Breaking\*\*.*?(?=^- |^#|\Z)", "", text)


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def links(root, path, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        other = (path.parent / name).resolve() if name else path
        if not other.exists():
            yield f"links to {target}, which is not there"
        elif fragment and fragment not in {anchor(each) for each in re.findall(r"(?m)^#+ (.*)$", other.read_text())}:
            yield f"links to {target}, and there is no such heading"


@cache
def swift_files(root):
    """Those of each name."""
    files = {}
    for folder in ("Services", "Shared", "Tests", "Client"):
        for path in root.glob(f"{folder}/**/*.swift"):
            if ".build" not in path.parts:
                files.setdefault(path.stem, []).append(path)
    return files


@cache
def sources(root):
    files = (path for paths in swift_files(root).values() for path in paths)
    return "\n".join(path.read_text() for path in files if "Tests" not in path.parts)


@cache
def known_settings(root):
    return [KnownSettings(root, name) for name in ("gateway", "identity", "tokens", "devices", "apple-simulator")]


@cache
def make_targets(root):
    return set(re.findall(r"(?m)^([a-z-]+):", (root / "Makefile").read_text()))


@cache
def variables(root):
    """Where names of variables stand that are no settings of a service: compose, `.local/env`, options of tests."""
    files = [root / name for name in ("Makefile", "Package.swift", "docker-compose.yml")]
    # Not those that try these rules: their names are wrong on purpose.
    files += [*root.glob("deploy/local/*.sh"), *root.glob("deploy/local/parts/*.sh")]
    options = "\n".join(path.read_text() for path in root.glob("Tests/**/*.swift"))
    text = "\n".join(path.read_text() for path in files)
    return {*re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", text), *re.findall(r"\bGATEHOUSE(?:_[A-Z]+)+\b", options)}


def is_there(root, name):
    """Whether a file has this name; `NAME` in it stands for any."""
    name = re.sub("^T/", "Tests/", re.sub("^S/", "Services/", name))
    return any(root.glob(name.replace("NAME", "*").rstrip("/"))) if "NAME" in name else (root / name).exists()


FILE = r"(T|Tests|S|Services|Shared|Client|deploy|docs|\.github)/[\w./+-]+"
SETTING = re.compile(r"(?<![\w<])(?:GATEWAY|IDENTITY|TOKENS|DEVICES|APPLE_SIMULATOR|GATEHOUSE)(?:_[A-Z]+)+(?![\w<*…])")
MAKE = re.compile(r'(?:^|[;&|(]\s*|\bsudo |[A-Z]=(?:"[^"\n]*"|\S*) )make ((?:[a-z][a-z-]* ?)+)', re.M)


def names(root, text):
    """What the text names, as far as its form says what it is."""
    # Between backticks, which may begin in one line and end in the next.
    quoted = {" ".join(name.split()) for name in re.findall(r"`((?:(?!\n\n)[^`])+)`", prose(text))}
    shell = commands(text)
    for name in sorted(quoted):
        if re.fullmatch(FILE, name) and not is_there(root, name):
            yield f"names {name}, which is not there"
        elif re.fullmatch(r"\w+Tests", name) and name not in swift_files(root) and not (root / "Tests" / name).is_dir():
            yield f"names the tests {name}, which are not there"
        elif re.fullmatch(r"(identity|tokens|devices|gatehouse)_\w+_total", name):
            if name.removesuffix("_total").removeprefix("gatehouse_") not in sources(root):
                yield f"names the metric {name}, which no source knows"
    for name in sorted(set(re.findall(rf"(?:^|\s)({FILE})", shell))):
        if not is_there(root, name[0].rstrip(".")):
            yield f"names {name[0]}, which is not there"
    for name in sorted(set(SETTING.findall(text))):
        known = any(service.knows(name) for service in known_settings(root)) or name in variables(root)
        if not known and f"{name}=$(" not in shell:
            yield f"names the setting {name}, which no source knows"
    for words in sorted({*MAKE.findall(shell), *(words for name in quoted for words in MAKE.findall(name))}):
        for target in words.split():
            if target not in make_targets(root):
                yield f"names make {target}, which the Makefile does not have"


def width(text):
    """Of prose: a table's row, a command and an address stand in one line."""
    blank = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    for number, line in enumerate(blank.splitlines(), 1):
        if len(line) > 120 and not line.startswith("|"):
            yield f"has a line of {len(line)} characters: {number}"


def decisions(root):
    folder = root / "docs/decisions"
    index = re.findall(r"(?m)^\| \[(\d+)\]\(([^)]+)\) \| (.*) \|$", (folder / "README.md").read_text())
    files = sorted(folder.glob("[0-9]*.md"))
    if [name for _, name, _ in index] != [path.name for path in files]:
        yield "docs/decisions/README.md does not list the folder's pages in their order"
    for number, path in enumerate(files, 1):
        text = path.read_text()
        where = path.relative_to(root)
        title = re.match(r"# (\d+)\. (.*)\n", text)
        if not path.name.startswith(f"{number:04}-") or not title or int(title[1]) != number:
            yield f"{where} is number {number}: file and title have to say so"
        elif (f"{number:04}", path.name, title[2]) not in index:
            yield f"{where} has another title in docs/decisions/README.md"
        if re.findall(r"(?m)^## (.*)$", text) != HEADINGS:
            yield f"{where} does not have the headings {', '.join(HEADINGS)}"
        if len(text.split()) > MOST_WORDS:
            yield f"{where} is longer than {MOST_WORDS} words"


def version(root):
    source = (root / "Shared/Settings/GatehouseVersion.swift").read_text()
    number = re.search(r'static let number = "([^"]+)"', source)[1]
    newest = re.search(r"(?m)^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text())
    if not newest or newest[1] != number:
        yield f"CHANGELOG.md's newest version is {newest[1] if newest else 'none'}, GatehouseVersion's {number}"


def owners(root):
    rules = []
    for line in (root / ".github/CODEOWNERS").read_text().splitlines():
        if line and not line.startswith("#"):
            path, *teams = line.split()
            rules.append((path, {team.split("/")[1] for team in teams}))
            if path != "*" and not (root / path.strip("/")).exists():
                yield f".github/CODEOWNERS names {path}, which is not there"

    def owner(path):
        found = set()
        for pattern, teams in rules:
            if pattern == "*" or ("/" + path + "/").startswith(pattern.rstrip("/") + "/"):
                found = teams
        return found

    # Team, what it owns, contracts, on call for.
    row = r"(?m)^\| `(\w+)` \|([^|]*)\|([^|]*)\|([^|]*)\|$"
    table = re.findall(row, (root / OWNERS).read_text())
    listed = {team for team, *_ in table}
    for team in sorted(set().union(*(teams for _, teams in rules)) ^ listed):
        yield f"the team {team} is in one of {OWNERS} and .github/CODEOWNERS"
    on_call = {}
    contracts = " ".join(answers for _, _, answers, _ in table)
    for service in ("gateway", "identity", "tokens", "devices"):
        if f"`docs/openapi/{service}.json`" not in contracts:
            yield f"{OWNERS}: no team answers for docs/openapi/{service}.json"
    for team, owns, answers, alerts in table:
        for path in re.findall(r"`([\w./-]+)`", owns) + re.findall(r"`(docs/[\w./-]+)`", answers):
            if not (root / path).exists():
                yield f"{OWNERS}: {team} owns {path}, which is not there"
            elif owner(path) != {team}:
                yield f"{OWNERS}: {team} owns {path}, in .github/CODEOWNERS it is {', '.join(sorted(owner(path)))}"
        for name in re.findall(r"`([\w.-]+)`", alerts):
            if name in on_call:
                yield f"{OWNERS}: two teams are on call for {name}"
            on_call[name] = team
            if owner(f"deploy/observability/rules/{name}") != {team}:
                yield f"{OWNERS}: {team} is on call for {name}, and .github/CODEOWNERS has another owner"
    rules_files = {path.name for path in (root / "deploy/observability/rules").glob("*.yml")}
    for name in sorted(rules_files ^ set(on_call)):
        yield f"{OWNERS} and deploy/observability/rules: {name} is in one of them"


def licences(root):
    text = (root / "docs/licences.md").read_text()
    told = dict(re.findall(r"(?m)^\| \[([\w.-]+)\]\([^)]*\) \| ([\w.-]+) \|", text))
    package = (root / "Package.swift").read_text()
    for url, number in re.findall(r'\.package\(url: "([^"]+)", exact: "([^"]+)"', package):
        name = url.rsplit("/", 1)[1].removesuffix(".git")
        if name not in NOT_SHIPPED and told.get(name) != number:
            yield f"docs/licences.md does not have {name} {number}, which Package.swift names: make sbom"
    debian = set(re.findall(r"(?m)^\| ([a-z0-9][a-z0-9+.-]+) \| ", text.split("## Debian")[1]))
    for name in debian_packages((root / "deploy/Dockerfile").read_text()):
        if name not in debian:
            yield f"docs/licences.md does not have {name}, which deploy/Dockerfile installs: make sbom"


def findings(root):
    for path in papers(root):
        text = path.read_text()
        where = path.relative_to(root)
        for flaw in [*links(root, path, prose(text)), *names(root, of_now(path, text)), *width(text)]:
            yield f"{where} {flaw}"
    for check in (decisions, version, owners, licences):
        yield from check(root)


if __name__ == "__main__":
    tree = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[3]).resolve()
    found = list(findings(tree))
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)
