#!/usr/bin/env bash
# bench-gateway.sh [ARGUMENT OF bench…]   the gateway beside Envoy and HAProxy: each alone on one core, with the load
# and what is behind them on another.
# shellcheck source=parts/measured-system.sh
. "$(dirname "$0")/parts/measured-system.sh"
# The gateways that are compared have every feature on.
unset GATEHOUSE_RATE_LIMITS
# shellcheck source=parts/gateway-peers.sh
. "$scripts/parts/gateway-peers.sh"

[ "$(uname)" = Linux ] || fail "cores and CPU times are read as Linux has them"
proxy_core=0
load_core=$(($(getconf _NPROCESSORS_ONLN) > 1 ? 1 : 0))
[ "$load_core" != "$proxy_core" ] || warn "there is one core only: load and proxies take turns on it"

# For 10,000 connections.
ulimit -n "$(ulimit -Hn)"

ensure_gateway_peers
build_benchmarks
system_up
# The benchmark starts gateways of its own, with these settings and some of its own.
choose_environment gateway
printf '%s\n' "${environment[@]}" | grep '=' >"$state/gateway.environment"
# NIO counts the machine's cores and does not look at what taskset allows: two loops would take turns on one core.
echo NIO_SINGLETON_GROUP_LOOP_COUNT=1 >>"$state/gateway.environment"
stop TERM gateway
taskset -c "$load_core" "$bench" --environment-file "$state/env" --upstream-port "$upstream_port" \
    --only gateway --binaries "$binaries" --peers "$root/Tests/Benchmarks/Peers" --envoy "$(envoy_binary)" \
    --proxy-core "$proxy_core" "$@"
