#!/usr/bin/env bash
# Tries every alert with `promtool test rules`: when it fires, and when it does not.
. "$(dirname "$0")/parts/packages.sh"

ensure_tools promtool=prometheus
cd "$root/deploy/observability/tests"
promtool test rules ./*.yml || fail "an alert does not do what it should"
note "$(cat ../rules/*.yml | grep -c -- '- alert:') alerts, $(cat ./*.yml | grep -c -- '- name:') cases"
