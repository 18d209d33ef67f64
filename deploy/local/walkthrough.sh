#!/usr/bin/env bash
# Runs the walk-through against the running system, command by command.
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"

[ -f "$state/env" ] || fail "nothing runs here: make up first"
set -a
# shellcheck source=/dev/null
. "$state/env"
walkthrough | bash -euo pipefail -x | tee "$state/walkthrough-output"
[ "$(tail -n 1 "$state/walkthrough-output")" = 401 ] || fail "the access token still works after sign-out"
