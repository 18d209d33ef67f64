#!/usr/bin/env bash
# Runs the walk-through against the running system, command by command. Starts it where it does not run.
. "$(dirname "$0")/parts/system.sh"

# What these say is not the walk-through's.
[ -f "$state/env" ] || "$scripts/up.sh" >&2
build_system >&2
export_file "$state/env"
# Profiles of its own: the command ties each to one server, and the developer's are left alone.
export XDG_CONFIG_HOME=$state/walkthrough-profiles
rm -rf "$XDG_CONFIG_HOME"
walkthrough | bash -euo pipefail -x | tee "$state/walkthrough-output"
[ "$(tail -n 1 "$state/walkthrough-output")" = 401 ] || fail "the access token still works after sign-out"
