#!/usr/bin/env bash
# bench.sh [ARGUMENT OF bench…]   starts a system of its own in a release build, without rate limits, and measures it.
. "$(dirname "$0")/parts/own-system.sh"

export GATEHOUSE_RATE_LIMITS=off
# For a service of the team's own behind the gateway, for which the benchmark itself stands in.
upstream_port=$((base + 17))
export GATEWAY_ROUTES_FILE=$state/routes.yaml
say "routes: [{name: bench, path: /bench, upstreams: ['http://127.0.0.1:$upstream_port']}]" >"$GATEWAY_ROUTES_FILE"

# Messages about forgotten passwords go here: the part `timing` stands in for the sender.
export IDENTITY_RESET_HOOK_URL=http://127.0.0.1:$upstream_port/messages IDENTITY_RESET_HOOK_SECRET=dev-benchmark

ensure_tools h2load=nghttp2-client
fetch_python_tools python aioapns==4.0
build_benchmarks
system_up
# pgbench stands beside the server's programs.
PATH=$PATH:$(postgres_bin)
"$bench" --environment-file "$state/env" --upstream-port "$upstream_port" --peers "$root/Tests/Benchmarks/Peers" \
    --python "$python/bin/python" "$@"
