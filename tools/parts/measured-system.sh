# shellcheck shell=bash
# A system to measure, beside the developer's: without rate limits, on free ports, gone at the end. Its folder has the
# name of the script that sources this and then calls `system_up`.

GATEHOUSE_LOCAL=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.local/$(basename "$0" .sh)
export GATEHOUSE_RATE_LIMITS=off
# What make was told in these has come as arguments; services refuse a setting that they do not know.
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT GATEHOUSE_SCALE_SESSIONS GATEHOUSE_SCALE_ROTATIONS GATEHOUSE_TIMING_TRIES \
    GATEHOUSE_PROFILE
# shellcheck source=system.sh
. "$(dirname "${BASH_SOURCE[0]}")/system.sh"

remove_measured_system() {
    system_down
    rm -rf "$state"
}

# Whatever an earlier run left.
if [ -d "$state" ]; then remove_measured_system; fi
mkdir -p "$state"
trap remove_measured_system EXIT
trap 'exit 130' INT TERM HUP

base=$(free_port_base)
# For a service of the team's own behind the gateway, for which the benchmark itself stands in.
upstream_port=$((base + 17))
