#!/usr/bin/env bash
# Stops everything that runs for this copy. The data stays.
. "$(dirname "$0")/parts/system.sh"

if any_alive; then outcome="Stopped"; else outcome="Nothing was running"; fi
system_down
note "$outcome"
