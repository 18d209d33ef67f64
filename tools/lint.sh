#!/usr/bin/env bash
# lint.sh [ARGUMENT OF pre-commit run…]   runs the checks of .pre-commit-config.yaml, on every file by default.
. "$(dirname "$0")/parts/packages.sh"

ensure_tools git jq python3 promtool=prometheus
fetch_python_tools tools pre-commit==4.7.0
export PRE_COMMIT_HOME=$root/.local/pre-commit
cd "$root"
if [ $# = 0 ]; then set -- --all-files; fi
exec "$tools/bin/pre-commit" run "$@"
