"""The bill of materials of the images. Called by sbom.sh and by the check of docs/licences.md.

    sbom.py debian-packages                               what deploy/Dockerfile installs in the stage `runtime`
    sbom.py write PACKAGES SWIFT-VERSION SBOM LICENCES    PACKAGES: `swift package show-dependencies --format json`
"""
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from urllib.parse import quote, urlsplit

ROOT = Path(__file__).resolve().parents[3]

# Sources of others that lie within a package: folder, name, licence, where it says so.
WITHIN = {
    "swift-crypto": [
        ("Sources/CCryptoBoringSSL", "BoringSSL", "Apache-2.0", "crypto/aes/aes.cc"),
        ("Sources/CXKCP", "XKCP", "CC0-1.0", ""),
    ],
    "swift-nio": [
        ("Sources/CNIOLLHTTP", "llhttp", "MIT", "LICENSE"),
        ("Sources/CNIOSHA1", "SHA-1 of FreeBSD", "BSD-3-Clause", "c_nio_sha1.c"),
    ],
    "swift-nio-ssl": [("Sources/CNIOBoringSSL", "BoringSSL", "Apache-2.0", "crypto/aes/aes.cc")],
    "yams": [("Sources/CYaml", "LibYAML", "MIT", "")],
}


def debian_packages(dockerfile):
    """The packages that `apt-get install` of the stage `runtime` names."""
    stage = re.search(r"^FROM \S+ AS runtime\n(.*?)(?=^FROM |\Z)", dockerfile, re.M | re.S)
    if not stage:
        sys.exit("error: deploy/Dockerfile has no stage `runtime`")
    command = re.search(r"apt-get install (.*?)(?:&&|\n(?!.)|\Z)", stage[1].replace("\\\n", " "), re.S)
    names = [word for word in command[1].split() if not word.startswith("-")] if command else []
    if not names:
        sys.exit("error: the stage `runtime` of deploy/Dockerfile installs nothing")
    return names


def licence_of(text):
    """The SPDX identifier of a licence's text."""
    if "Apache License" in text and "Version 2.0" in text:
        return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
    if "Permission is hereby granted, free of charge, to any person obtaining a" in text:
        return "MIT"
    if "Redistribution and use in source and binary forms" in text:
        return "BSD-3-Clause" if "endorse or promote" in text else "BSD-2-Clause"
    return None


def swift_packages(tree):
    """Every package once, by its identity, with what it needs."""
    found = {}

    def visit(node):
        needs = sorted({child["identity"] for child in node["dependencies"]})
        found[node["identity"]] = {
            "name": Path(urlsplit(node["url"]).path).name.removesuffix(".git"), "url": node["url"],
            "version": node["version"], "path": Path(node["path"]), "needs": needs}
        for child in node["dependencies"]:
            visit(child)

    for child in tree["dependencies"]:
        visit(child)
    for identity, package in found.items():
        texts = sorted(package["path"].glob("LICEN[SC]E*"))
        package["licence"] = licence_of(texts[0].read_text()) if texts else None
        if package["licence"] is None:
            sys.exit(f"error: the licence of {identity} is none that sbom.py knows: look at {package['path']}")
        package["notice"] = any(package["path"].glob("NOTICE*"))
        package["revision"] = subprocess.run(
            ["git", "-C", package["path"], "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for folder, name, _, proof in WITHIN.get(identity, []):
            if not (package["path"] / folder / proof).exists():
                sys.exit(f"error: {identity} {package['version']} has no {folder}/{proof}: look where {name} went")
    return found


def dpkg(form, names):
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", form + "\n", *names], capture_output=True, text=True, check=False).stdout
    return [line.split("\t") for line in answer.splitlines()]


def debian_closure(names):
    """Those packages and what they need, as far as dpkg has them: of alternatives the one that is installed."""
    found, asked = {}, set()
    wanted = list(names)
    while wanted:
        rows = dpkg("${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Pre-Depends}, ${Depends}", wanted)
        wanted = []
        for name, version, architecture, source, depends in rows:
            if not version:  # a virtual package's name
                continue
            needs = set(re.findall(r"([a-z0-9][a-z0-9+.-]+)(?::any)?(?: \([^)]*\))?\s*(?:[,|]|$)", depends))
            found[name] = {
                "version": version, "architecture": architecture, "source": source, "needs": needs,
                "licences": debian_licences(name)}
            wanted += needs
        asked |= {row[0] for row in rows}
        wanted = sorted(set(wanted) - asked)
    missing = [name for name in names if name not in found]
    if missing:
        sys.exit(f"error: dpkg does not know {' '.join(missing)}")
    for package in found.values():
        package["needs"] = sorted(package["needs"] & set(found))
    return found


def debian_licences(name):
    """As the package's copyright file names them; none where a person has to read it."""
    path = Path("/usr/share/doc") / name / "copyright"
    text = path.read_text(errors="replace") if path.exists() else ""
    if not text.startswith("Format:"):
        return []
    names = {" ".join(line.split()[1:]) for line in text.splitlines() if re.match(r"License: *\S", line)}
    # What is said of several licences together is made of names that stand alone elsewhere in the file.
    return sorted(name for name in names if " and " not in name)


def spdx(expression):
    return [{"expression": expression}] if " " in expression else [{"license": {"id": expression}}]


def bill(packages, debian, version, swift_version):
    own = f"pkg:generic/gatehouse@{version}"
    swift_references = {}
    components, needs = [], []
    for identity, package in sorted(packages.items()):
        url = urlsplit(package["url"])
        reference = f"pkg:swift/{url.hostname}{url.path.removesuffix('.git')}@{package['version']}"
        swift_references[identity] = reference
        component = {
            "type": "library", "bom-ref": reference, "name": package["name"], "version": package["version"],
            "purl": reference, "licenses": spdx(package["licence"]),
            "externalReferences": [{"type": "vcs", "url": package["url"]}],
            "properties": [{"name": "gatehouse:revision", "value": package["revision"]}]}
        parts = [
            {"type": "library", "bom-ref": f"{reference}#{folder}", "name": name, "licenses": spdx(licence)}
            for folder, name, licence, _ in WITHIN.get(identity, [])]
        if parts:
            component["components"] = parts
        components.append(component)
    runtime = f"pkg:generic/swift@{swift_version}"
    components.append({
        "type": "library", "bom-ref": runtime, "name": "swift", "version": swift_version, "purl": runtime,
        "description": "Swift's libraries, linked into each program",
        "licenses": spdx("Apache-2.0 WITH Swift-exception")})
    debian_references = {}
    for name, package in sorted(debian.items()):
        reference = (
            f"pkg:deb/debian/{quote(name)}@{quote(package['version'])}"
            f"?arch={package['architecture']}&distro=debian-12")
        debian_references[name] = reference
        component = {
            "type": "library", "bom-ref": reference, "name": name, "version": package["version"], "purl": reference,
            "properties": [{"name": "gatehouse:source", "value": package["source"]}]}
        if package["licences"]:
            component["licenses"] = [{"license": {"name": licence}} for licence in package["licences"]]
        components.append(component)
    direct = json.loads(Path(sys.argv[2]).read_text())["dependencies"]
    named = debian_packages((ROOT / "deploy/Dockerfile").read_text())
    needs.append({
        "ref": own,
        "dependsOn": sorted(swift_references[child["identity"]] for child in direct) + [runtime]
        + sorted(debian_references[name] for name in named)})
    for identity, reference in swift_references.items():
        needs.append({
            "ref": reference, "dependsOn": [swift_references[each] for each in packages[identity]["needs"]]})
    for name, reference in debian_references.items():
        needs.append({"ref": reference, "dependsOn": [debian_references[each] for each in debian[name]["needs"]]})
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components))}", "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": own, "name": "gatehouse", "version": version,
            "licenses": spdx("Apache-2.0")}},
        "components": components, "dependencies": needs}


def licences_page(packages, debian):
    lines = [
        "# Licences", "",
        "Gatehouse is under the Apache License 2.0 ([LICENSE](../LICENSE)). `make sbom` writes this page and, with",
        "exact versions of everything, `.local/sbom/gatehouse.cdx.json` (CycloneDX 1.5). Licences are read from each",
        "package's files. An app that takes the client alone takes none of this.", "",
        "## Swift packages", "",
        "A package with `NOTICE` has a file of that name, which goes with copies of the program.", "",
        "| package | version | licence | |", "|---|---|---|---|"]
    for _, package in sorted(packages.items()):
        notice = "`NOTICE`" if package["notice"] else ""
        lines.append(f"| [{package['name']}]({package['url'].removesuffix('.git')}) | {package['version']} "
                     f"| {package['licence']} | {notice} |")
    lines += [
        "", "Swift's own libraries are linked into each program: Apache-2.0 WITH Swift-exception.", "",
        "## Within those packages", "", "| package | folder | what | licence |", "|---|---|---|---|"]
    for identity, parts in sorted(WITHIN.items()):
        for folder, name, licence, _ in parts:
            lines.append(f"| {packages[identity]['name']} | `{folder}` | {name} | {licence} |")
    lines += [
        "", "## Debian packages in the images", "",
        "Those that `deploy/Dockerfile` names, and what they need. The base image (`debian:bookworm-slim`) has more.",
        "Licences have the names of the package's `/usr/share/doc/NAME/copyright`; where none stands, that file is",
        "text to be read.", "", "| package | licences |", "|---|---|"]
    for name, package in sorted(debian.items()):
        lines.append(f"| {name} | {', '.join(package['licences'])} |")
    return "\n".join(lines) + "\n"


def version():
    text = (ROOT / "Shared/Settings/GatehouseVersion.swift").read_text()
    return re.search(r'static let number = "([^"]+)"', text)[1]


def write(tree_path, swift_version, sbom_path, page_path):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    packages = swift_packages(json.loads(Path(tree_path).read_text()))
    debian = debian_closure(debian_packages((ROOT / "deploy/Dockerfile").read_text()))
    text = json.dumps(bill(packages, debian, version(), swift_version), indent=2) + "\n"
    flaw = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if flaw:
        sys.exit(f"error: this is not CycloneDX 1.5: {flaw}")
    Path(sbom_path).write_text(text)
    Path(page_path).write_text(licences_page(packages, debian))
    print(f"{sbom_path}: {len(packages)} Swift packages, {len(debian)} Debian packages; valid CycloneDX 1.5")
    print(f"{page_path}")


if __name__ == "__main__":
    if sys.argv[1:] == ["debian-packages"]:
        print(" ".join(debian_packages((ROOT / "deploy/Dockerfile").read_text())))
    elif len(sys.argv) == 6 and sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        sys.exit(__doc__)
