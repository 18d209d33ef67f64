#!/usr/bin/env bash
# Examines the system that runs here: what each service says of itself and of what it depends on. Ends with 1 where one
# of them names a problem.
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"

[ -f "$state/env" ] || fail "nothing runs here: make up first"
build_release >&2
ensure_keys >&2
ended=0
for name in gateway identity tokens devices; do
    choose_environment "$name"
    "${environment[@]}" "$binaries/$name" doctor || ended=1
    say
done
exit "$ended"
