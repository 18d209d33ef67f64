# shellcheck shell=bash
# own-state.sh NAME   sourced by a check that starts the process NAME: gives it a state folder and ports of its own, which
# go with the script's end.
GATEHOUSE_LOCAL=$(cd "$(dirname "$0")/../../.." && pwd)/.local/test-$1
export GATEHOUSE_LOCAL
unset GATEHOUSE_PORT_BASE
for part in common processes; do
    # shellcheck source=/dev/null
    . "$(dirname "$0")/../parts/$part.sh"
done
# shellcheck source=expectations.sh
. "$local_scripts/checks/expectations.sh"

all_names=$1
remove() {
    stop TERM "$all_names"
    rm -rf "$state"
}
if [ -d "$state" ]; then remove; fi
mkdir -p "$state" "$logs" "$run"
trap remove EXIT
trap 'exit 130' INT TERM HUP

GATEHOUSE_PORT_BASE=$(free_port_base)
export GATEHOUSE_PORT_BASE
base=$GATEHOUSE_PORT_BASE
