# Names, folders, ports and messages that every script here shares. Sourced, never run.

set -euo pipefail
# A script that stops at a command that failed says at which.
trap 'printf "error: %s stopped at line %s\n" "$0" "$LINENO" >&2' ERR

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scripts=$root/tools
# Tests and benchmarks keep a system of their own beside the developer's.
state=${GATEHOUSE_LOCAL:-$root/.local}
case $state in /*) ;; *) state=$root/$state ;; esac
keys=$state/keys
logs=$state/logs
run=$state/run

# SwiftPM passes flags in the order of a set. Without a fixed seed every second build compiles unchanged targets.
export SWIFT_DETERMINISTIC_HASHING=1

# In the order in which they start; they stop in the reverse one.
service_names="apple-simulator tokens devices identity gateway"
all_names="postgres redis $service_names"

say() { printf '%s\n' "$*"; }
note() { printf '==> %s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# tokens → TOKENS, apple-simulator → APPLE_SIMULATOR
upper() { printf '%s' "$1" | tr 'a-z-' 'A-Z_'; }

# The version of Gatehouse that this tree builds.
version() { sed -n 's/.*static let number = "\(.*\)"/\1/p' "$root/Shared/GatehouseSettings/GatehouseVersion.swift"; }

# GATEHOUSE_PORT_BASE, else the ports that this copy runs on, else 8080. keep_port_base refuses to move a running copy.
port_base() {
    local kept
    kept=$(cat "$run/port-base" 2>/dev/null) || kept=8080
    printf '%s' "${GATEHOUSE_PORT_BASE:-$kept}"
}

# port NAME: where a service or server listens. The admin ports are 10 above the services' own.
declare -A offsets=(
    [gateway]=0 [identity]=1 [tokens]=2 [devices]=3 [apple-simulator]=4 [apns-simulator]=5 [postgres]=15 [redis]=16
    [prometheus]=18
)
port() { printf '%s' $((base + ${offsets[$1]})); }

admin_port() { printf '%s' $(($(port "$1") + 10)); }

# wait_until SECONDS COMMAND…: true as soon as the command is, false when the time is over.
wait_until() {
    local deadline=$((SECONDS + $1))
    until "${@:2}"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}

# One script at a time may change what runs in this copy. The lock goes with the script's end.
lock_state() {
    mkdir -p "$state" "$logs" "$run"
    exec 9>"$state/lock"
    flock -n 9 || {
        note "Waiting for another make in this copy to finish"
        flock 9
    }
}

unlock_state() { exec 9>&-; }

base=$(port_base)
