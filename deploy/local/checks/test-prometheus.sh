#!/usr/bin/env bash
# Tries `make prometheus` beside a system that is not there: the address that it prints leads to pages, and Prometheus
# takes every rule.
# shellcheck source=own-state.sh
. "$(dirname "$0")/own-state.sh" prometheus
touch "$state/env"
start prometheus "$local_scripts/prometheus.sh"
address=http://127.0.0.1:$(port prometheus)
await prometheus 30 curl -fs -o /dev/null "$address/-/ready"
expect "make prometheus prints its address" grep -qF "$address," "$logs/prometheus.log"
expect "which leads to pages" curl -fsSL -o /dev/null "$address/"
rules_are_taken() {
    local rules
    rules=$(cat "$root"/deploy/observability/rules/*.yml | grep -cE -- '- (alert|record):')
    [ "$(curl -fsS "$address/api/v1/rules" | jq '[.data.groups[].rules[] | select(.health == "ok")] | length')" = "$rules" ]
}
expect "every rule is taken and evaluated" wait_until 60 rules_are_taken
