#!/usr/bin/env bash
# Runs the walk-through against the running system, command by command.
# shellcheck source=system.sh
. "$(dirname "$0")/system.sh"

[ -f "$state/env" ] || fail "nothing runs here: make up first"
set -a
# shellcheck source=/dev/null
. "$state/env"
walkthrough | bash -euo pipefail -x
