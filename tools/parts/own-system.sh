# For a script's own `system_up`, under .local/NAME OF THE SCRIPT and on free ports. At its end all but the logs goes.

GATEHOUSE_LOCAL=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.local/$(basename "$0" .sh)
# What is measured is what ships.
export GATEHOUSE_LOCAL GATEHOUSE_RELEASE=1
# The developer's shell may name another copy.
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT
. "$(dirname "${BASH_SOURCE[0]}")/system.sh"

remove_own_system() {
    local file
    system_down
    # What the script started by `start` beside the system.
    for file in "$run"/*.pid; do
        if [ -e "$file" ]; then stop "$(basename "$file" .pid)"; fi
    done
    rm -rf "$state"/postgres* "$state/redis"
}

# An earlier run may have been killed.
if [ -d "$state" ]; then remove_own_system; fi
rm -rf "$state"
mkdir -p "$logs" "$run"
trap remove_own_system EXIT
trap 'exit 130' INT TERM HUP

take_ports base
export GATEHOUSE_PORT_BASE=$base
