#!/usr/bin/env bash
# Takes the traces of services that know this address, and prints each as a tree. Ctrl-C stops it.
# shellcheck source=parts/common.sh
. "$(dirname "$0")/parts/common.sh"
for part in processes packages; do
    # shellcheck source=/dev/null
    . "$local_scripts/parts/$part.sh"
done

ensure_tools python3
need_port traces "$(port traces)"
note "Traces are printed here. To have some:"
say "make down; GATEHOUSE_TRACES_ENDPOINT=http://127.0.0.1:$(port traces) GATEHOUSE_TRACES_PERCENT=100 make up"
exec python3 "$local_scripts/traces.py" "$(port traces)"
