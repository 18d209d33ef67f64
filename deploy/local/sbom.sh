#!/usr/bin/env bash
# Lists what the images are made of: a software bill of materials (CycloneDX 1.5) in .local/sbom/gatehouse.cdx.json,
# held against CycloneDX's schema, and docs/licences.md. It needs the Swift packages, which it fetches where they are
# missing, and the Debian packages of deploy/Dockerfile, whose versions dpkg tells.
# shellcheck source=parts/common.sh
. "$(dirname "$0")/parts/common.sh"
# shellcheck source=parts/packages.sh
. "$local_scripts/parts/packages.sh"

# Its package carries the schemas, so that the check asks nobody.
cyclonedx_version=11.12.0
python=$root/.local/tools/cyclonedx-$cyclonedx_version/bin/python

type -P swift >/dev/null || fail "Swift 6.3 is not installed. See https://www.swift.org/install"
command -v dpkg-query >/dev/null || fail "this is not Debian: nobody here knows the versions of the images' packages"
ensure_tools python3

if ! "$python" -c 'import cyclonedx.validation.json' 2>/dev/null; then
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv ||
        fail "python3-venv is missing, and installing it needs root"
    note "Fetching cyclonedx-python-lib $cyclonedx_version"
    python3 -m venv "$(dirname "$(dirname "$python")")" || fail "could not make a Python environment"
    "$python" -m pip install -q --disable-pip-version-check \
        "cyclonedx-python-lib[json-validation]==$cyclonedx_version" || fail "it could not be fetched from PyPI"
fi

cd "$root"
sbom=$local_scripts/parts/sbom.py
runtime=$(python3 "$sbom" debian-packages)
# shellcheck disable=SC2086 # one word a package
if ! dpkg-query -W $runtime >/dev/null 2>&1; then
    install_packages $runtime || fail "installing the images' packages needs root: $runtime"
fi

mkdir -p "$state/sbom"
note "Asking SwiftPM what the packages need"
swift package show-dependencies --format json >"$state/sbom/packages.json" || fail "the packages were not resolved"
swift_version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p')
"$python" "$sbom" write "$state/sbom/packages.json" "$swift_version" "$state/sbom/gatehouse.cdx.json" docs/licences.md
