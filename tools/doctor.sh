#!/usr/bin/env bash
# Runs each service's doctor in the system here, which is started if needed. Ends with 1 if a service names a problem.
. "$(dirname "$0")/parts/system.sh"

[ -f "$state/env" ] || "$scripts/up.sh" >&2
build_system >&2
ensure_keys >&2
ended=0
for name in gateway identity tokens devices; do
    choose_environment "$name"
    "${environment[@]}" "$binaries/$name" doctor || ended=1
    say
done
exit "$ended"
