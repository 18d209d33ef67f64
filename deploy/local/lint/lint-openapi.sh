#!/usr/bin/env bash
# lint-openapi.sh [FOLDER]   holds docs/openapi to the source, to OpenAPI 3.1 and to the last release, from which it may
# part where CHANGELOG.md says so. FOLDER is another copy of the tree, for trying the rules.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$local_scripts/parts/packages.sh"
# shellcheck source=../parts/openapi.sh
. "$local_scripts/parts/openapi.sh"

ensure_openapi_tools
tree=${1:-$root}
failed=0
python3 "$tree/deploy/local/openapi.py" --check || failed=1
"$openapi_python" "$local_scripts/lint/lint-openapi.py" "$tree" || failed=1
python3 "$local_scripts/lint/openapi-breaking.py" "$tree/docs/openapi/released" "$tree/docs/openapi" "$tree/CHANGELOG.md" ||
    failed=1
exit "$failed"
