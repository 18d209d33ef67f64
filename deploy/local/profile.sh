#!/usr/bin/env bash
# profile.sh [SERVICE]   where the CPU time of a service (tokens unless named) goes while clients refresh, by perf.
# shellcheck source=parts/measured-system.sh
. "$(dirname "$0")/parts/measured-system.sh"

ensure_tools perf=linux-perf
service=${1:-tokens}

build_benchmarks
system_up
"$bench" --environment-file "$state/env" --upstream-port "$upstream_port" --only load --seconds 15 &
load=$!
# Its clients have signed up by then.
sleep 6
note "Sampling $service"
# Stacks come from the debug information: OpenSSL keeps no frame pointers.
perf record -q -e cpu-clock -F 499 --call-graph dwarf,16384 -p "$(pid_of "$service")" -o "$state/perf.data" -- sleep 8
wait "$load"
# Inlined calls are left out: looking them up takes minutes.
perf script -i "$state/perf.data" --no-inline -F comm,tid,ip,sym,dso 2>/dev/null |
    awk -v service="$service" -f "$local_scripts/profile.awk"
