#!/usr/bin/env bash
# lint-kubernetes.sh [FOLDER VARIANT]   holds every variant of the manifests to the schemas of three versions of
# Kubernetes, to the services' source and to docs/operations/install.md. FOLDER is another copy of the tree, for trying
# the rules on one variant.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$local_scripts/parts/packages.sh"
# shellcheck source=../parts/kubernetes.sh
. "$local_scripts/parts/kubernetes.sh"

ensure_kubernetes_tools
if [ $# = 0 ]; then set -- "$root"; fi
"$kubernetes_tools/python" "$local_scripts/lint/check-manifests.py" "$kubectl" "$kubernetes_versions" "$@"
