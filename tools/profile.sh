#!/usr/bin/env bash
# profile.sh [SERVICE]   perf's report of a service (tokens by default) while clients refresh, by library and function.
. "$(dirname "$0")/parts/own-system.sh"

ensure_tools perf=linux-perf
service=${1:-tokens}
export GATEHOUSE_RATE_LIMITS=off

build_benchmarks
system_up
"$bench" --environment-file "$state/env" --upstream-port $((base + 17)) --only load --seconds 15 &
load=$!
# Its clients have signed up by then.
sleep 6
note "Sampling $service"
perf record -q -e cpu-clock -F 499 -p "$(pid_of "$service")" -o "$state/perf.data" -- sleep 8
wait "$load"
for sort in dso symbol; do
    perf report -i "$state/perf.data" --stdio --sort "$sort" --percent-limit 0.5 2>/dev/null |
        grep -vE '^(#|$)' | sed 's/ *[- ]*$//' | swift demangle --simplified
    say
done
