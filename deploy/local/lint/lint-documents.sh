#!/usr/bin/env bash
# lint-documents.sh [FOLDER]   compares docs/reference/database.md with the migrations (database_docs.py), and checks links
# and names in every Markdown file, decisions, version, owners and licences (documents.py). FOLDER is another copy of the
# tree, for trying the rules.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"

failed=0
python3 "$local_scripts/lint/database_docs.py" "${1:-$root}" || failed=1
python3 "$local_scripts/lint/documents.py" "${1:-$root}" || failed=1
exit "$failed"
