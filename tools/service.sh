#!/usr/bin/env bash
# service.sh NAME COMMAND…   runs a command of a service with the settings of the system that runs here, for example
# echo 'a long enough sentence' | tools/service.sh identity users create --identifier ada@example.com --password-stdin
. "$(dirname "$0")/parts/system.sh"

[ -f "$state/env" ] || fail "nothing runs here: make up first"
[ $# -ge 2 ] || fail "usage: service.sh NAME COMMAND…"
name=$1
shift
case " $service_names " in *" $name "*) ;; *) fail "there is no service $name: it is one of $service_names" ;; esac
# What they say is not the command's.
build_system >&2
ensure_keys >&2
choose_environment "$name"
exec "${environment[@]}" "$binaries/$name" "$@"
