#!/usr/bin/env bash
# lint-kubernetes.sh [FOLDER VARIANT]   holds the manifests to the schemas of three versions of Kubernetes, to the
# services' source and to deploy/kubernetes/README.md. FOLDER is another copy of the tree, for trying the rules on one
# variant.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$local_scripts/parts/packages.sh"
# shellcheck source=../parts/kubernetes.sh
. "$local_scripts/parts/kubernetes.sh"

ensure_kubernetes_tools
check() { "$kubernetes_tools/python" "$local_scripts/lint/check-manifests.py" "$kubectl" "$@"; }

if [ $# -gt 0 ]; then
    check "$@"
    exit
fi

failed=0
check "$root" || failed=1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for overlay in development production; do
    "$kubectl" kustomize "$root/deploy/kubernetes/$overlay" >"$scratch/$overlay.yaml" || failed=1
done
# What is no part of Kubernetes itself (Gateway API, Prometheus operator) has no schema here.
cp "$root/deploy/kubernetes/components/ingress/ingress.yaml" "$scratch"
for version in $kubernetes_versions; do
    "$kubernetes_tools/kubernetes-validate" -k "$version" --strict --quiet "$scratch"/*.yaml || failed=1
done

exit "$failed"
