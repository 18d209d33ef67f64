"""Holds the papers to the code: links, names of tests and settings, decisions, versions, owners, licences.

    documents.py [FOLDER]   FOLDER: another copy of the tree
"""
import re
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "parts"))
from sbom import debian_packages  # noqa: E402
from settings_in_source import KnownSettings  # noqa: E402

PAPERS = [
    "SECURITY.md", "CHANGELOG.md", "docs/database.md", "docs/development.md", "docs/teams.md", "docs/licences.md",
    "docs/decisions"]
HEADINGS = ["Context", "Decision", "Consequences", "What was measured or read", "Look again when"]
# One page.
MOST_LINES = 60
# Fetched by `make docs` alone, and in no program.
NOT_SHIPPED = {"swift-docc-plugin"}


def papers(root):
    for name in PAPERS:
        path = root / name
        yield from sorted(path.glob("*.md")) if path.is_dir() else [path]


def prose(text):
    """Without blocks of code."""
    return re.sub(r"(?ms)^\s*```.*?^\s*```$", "", text)


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
    return [KnownSettings(root, name) for name in ("gateway", "identity", "tokens", "devices")]


def names(root, text):
    """What stands between backticks, as far as its form says what it is."""
    targets = set(re.findall(r"(?m)^([a-z-]+):", (root / "Makefile").read_text()))
    for name in sorted(set(re.findall(r"`([^`\n]+)`", text))):
        if re.fullmatch(r"(T|Tests|S|Services|Shared|Client|deploy|docs|\.github)/[\w./+-]+", name):
            path = name.replace("T/", "Tests/", 1) if name.startswith("T/") else name
            path = path.replace("S/", "Services/", 1) if path.startswith("S/") else path
            if not (root / path).exists():
                yield f"names {name}, which is not there"
        elif re.fullmatch(r"\w+Tests", name) and name not in swift_files(root):
            yield f"names the tests {name}, which are not there"
        elif re.fullmatch(r"(GATEWAY|IDENTITY|TOKENS|DEVICES)_[A-Z_]+[A-Z]", name):
            if not any(service.knows(name) for service in known_settings(root)):
                yield f"names the setting {name}, which no source knows"
        elif re.fullmatch(r"(identity|tokens|devices|gatehouse)_\w+_total", name):
            if name.removesuffix("_total").removeprefix("gatehouse_") not in sources(root):
                yield f"names the metric {name}, which no source knows"
        elif match := re.match(r"make ([a-z -]+)$", name):
            for target in match[1].split():
                if target not in targets:
                    yield f"names make {target}, which the Makefile does not have"


def width(text):
    for number, line in enumerate(text.splitlines(), 1):
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
        if text.count("\n") > MOST_LINES:
            yield f"{where} is longer than a page: {MOST_LINES} lines"


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

    # Team, what it owns, contracts, database, on call for, and three columns more.
    row = r"(?m)^\| `(\w+)` \|([^|]*)\|[^|]*\|[^|]*\|([^|]*)\|(?:[^|]*\|){3}$"
    table = re.findall(row, (root / "docs/teams.md").read_text())
    listed = {team for team, _, _ in table}
    for team in sorted(set().union(*(teams for _, teams in rules)) ^ listed):
        yield f"the team {team} is in one of docs/teams.md and .github/CODEOWNERS"
    on_call = {}
    for team, owns, alerts in table:
        for path in re.findall(r"`([\w./-]+)`", owns):
            if not (root / path).exists():
                yield f"docs/teams.md: {team} owns {path}, which is not there"
            elif owner(path) != {team}:
                yield f"docs/teams.md: {team} owns {path}, in .github/CODEOWNERS it is {', '.join(sorted(owner(path)))}"
        for name in re.findall(r"`([\w.-]+)`", alerts):
            if name in on_call:
                yield f"docs/teams.md: two teams are on call for {name}"
            on_call[name] = team
            if owner(f"deploy/observability/rules/{name}") != {team}:
                yield f"docs/teams.md: {team} is on call for {name}, and .github/CODEOWNERS has another owner"
    rules_files = {path.name for path in (root / "deploy/observability/rules").glob("*.yml")}
    for name in sorted(rules_files ^ set(on_call)):
        yield f"docs/teams.md and deploy/observability/rules: {name} is in one of them"


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
        plain = prose(text)
        where = path.relative_to(root)
        for flaw in [*links(root, path, plain), *names(root, plain), *width(text)]:
            yield f"{where} {flaw}"
    for check in (decisions, version, owners, licences):
        yield from check(root)


if __name__ == "__main__":
    tree = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[3]).resolve()
    found = list(findings(tree))
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)
