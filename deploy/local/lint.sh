#!/usr/bin/env bash
# Format of every Swift file, imports against Package.swift, the tree against the map in CONTRIBUTING.md, alerts
# and dashboards against the metrics, docker-compose.yml and the manifests of Kubernetes against the source, the
# descriptions of the contract and documents against what they speak of, and mistakes in every script.
# Installs what it needs: where a tool cannot be had, it fails.
# shellcheck source=parts/common.sh
. "$(dirname "$0")/parts/common.sh"
# shellcheck source=parts/packages.sh
. "$local_scripts/parts/packages.sh"

ensure_tools jq python3 shellcheck
cd "$root"
failed=0

note "Format"
sources=(Package.swift Services Shared Tests deploy/examples)
if [ -d Client ]; then sources+=(Client); fi
swift format lint --strict --parallel --recursive "${sources[@]}" || failed=1

note "Imports"
deploy/local/lint/lint-imports.sh || failed=1

note "The map"
deploy/local/lint/lint-map.sh || failed=1

note "Compose"
deploy/local/lint/lint-compose.sh || failed=1

note "Kubernetes"
deploy/local/lint/lint-kubernetes.sh || failed=1

note "Documents"
deploy/local/lint/lint-documents.sh || failed=1

note "OpenAPI"
deploy/local/lint/lint-openapi.sh || failed=1

note "Scripts"
find deploy Tests -name '*.sh' -exec shellcheck .ci/run deploy/examples/new-service {} + || failed=1

note "Alerts, dashboards"
deploy/local/lint/lint-observability.sh || failed=1

[ "$failed" = 0 ] || fail "lint found something"
note "Nothing found"
