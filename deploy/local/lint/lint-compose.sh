#!/usr/bin/env bash
# lint-compose.sh [FOLDER]   holds docker-compose.yml to the schema of the compose specification, to the services'
# source and to who may call whom. FOLDER is another copy of the tree, for trying the rules.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
for part in packages compose; do
    # shellcheck source=/dev/null
    . "$local_scripts/parts/$part.sh"
done

ensure_compose_tools
ensure_python_yaml
tree=${1:-$root}
failed=0
"$compose_tools/check-jsonschema" --quiet --builtin-schema vendor.compose-spec "$tree/docker-compose.yml" >&2 ||
    failed=1
"$python" "$local_scripts/lint/check-compose.py" "$tree" || failed=1
exit "$failed"
