#!/usr/bin/env bash
# Starts what is missing, in the background, and returns when all is ready.
. "$(dirname "$0")/parts/system.sh"

system_up
say "Addresses, databases and process ids: $state/env    Logs: $logs    Stop: make down"
