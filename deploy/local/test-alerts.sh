#!/usr/bin/env bash
# Tries every alert with `promtool test rules`: in which case it fires, and in which it does not. Then what holds rules,
# runbooks and dashboards to the sources: whether it finds a slip of each kind. Then `make prometheus`.
# shellcheck source=parts/common.sh
. "$(dirname "$0")/parts/common.sh"
# shellcheck source=parts/packages.sh
. "$local_scripts/parts/packages.sh"

ensure_tools promtool=prometheus jq curl
cd "$root/deploy/observability/tests"
promtool test rules ./*.yml || fail "an alert does not do what it should"
"$local_scripts/checks/test-observability.sh"
"$local_scripts/checks/test-prometheus.sh"
note "$(cat ../rules/*.yml | grep -c -- '- alert:') alerts, $(cat ./*.yml | grep -c -- '- name:') cases"
