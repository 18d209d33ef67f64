#!/usr/bin/env bash
# bench.sh [ARGUMENT OF bench…]   starts a system of its own in a release build, without rate limits, and measures it.
root=$(cd "$(dirname "$0")/../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/bench
export GATEHOUSE_RATE_LIMITS=off
# What make was told in these has come as arguments; services refuse a setting that they do not know.
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT GATEHOUSE_SCALE_SESSIONS GATEHOUSE_SCALE_ROTATIONS
# shellcheck source=system.sh
. "$(dirname "$0")/system.sh"

cleanup() {
    system_down
    rm -rf "$state"
}

# Whatever an earlier run left.
if [ -d "$state" ]; then cleanup; fi
mkdir -p "$state"
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

base=$(free_port_base)
# A service of the team's own, for which the benchmark itself stands in.
upstream_port=$((base + 17))
export GATEWAY_ROUTES_FILE=$state/routes.yaml
cat >"$GATEWAY_ROUTES_FILE" <<END
routes:
  - name: bench
    path: /bench
    upstreams: [http://127.0.0.1:$upstream_port]
END

system_up
# pgbench stands beside the server's programs.
PATH=$PATH:$(postgres_bin)
"$binaries/bench" --environment-file "$state/env" --upstream-port "$upstream_port" "$@"
