#!/usr/bin/env bash
# Stops everything that runs for this copy. The data stays.
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"

if any_alive; then
    system_down
    note "Stopped"
else
    system_down
    note "Nothing was running"
fi
