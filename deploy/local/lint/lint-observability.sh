#!/usr/bin/env bash
# Rules, alerts, their pages and dashboards: whether Prometheus can read them, and whether they name what the services
# have (observability.py). Whether the alerts fire is tried by `make test-alerts`.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$local_scripts/parts/packages.sh"

ensure_tools promtool=prometheus
ensure_python_yaml
cd "$root/deploy/observability"
failed=0
expressions=$(mktemp)
trap 'rm -f "$expressions"' EXIT

"$python" grafana/dashboards.py --check || failed=1
"$python" "$local_scripts/lint/observability.py" lint || failed=1
"$python" "$local_scripts/lint/observability.py" expressions >"$expressions" || failed=1

# What promtool prints is of interest only when something is wrong.
quietly() {
    local output
    output=$("$@" 2>&1) || {
        printf '%s\n' "$output" >&2
        failed=1
    }
}
# The configuration names the rules, which are read as well.
quietly promtool check config --lint-fatal prometheus.yml
# One record for all expressions: --lint=none, since the same name and labels would count as a mistake.
quietly promtool check rules --lint=none "$expressions"

[ "$failed" = 0 ]
