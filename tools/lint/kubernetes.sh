#!/usr/bin/env bash
# Builds every variant of docs/operations/install.md into .local/kubernetes, validates it against the supported versions
# of Kubernetes, and compares the connections that its NetworkPolicies allow with deploy/kubernetes/connectivity.
. "$(dirname "$0")/../parts/common.sh"

versions="1.35 1.36 1.37"
# Variant: overlay, components.
declare -A variants=(
    [development]="development"
    [production]="production load-balancer"
    [ingress]="production ingress"
    [gateway-api]="production gateway-api"
    [all]="production load-balancer service-monitors traces push"
)
built=$root/.local/kubernetes
connectivity=$root/deploy/kubernetes/connectivity
failed=0
rm -rf "$built"
mkdir -p "$built"

# build VARIANT: in a copy, with these components in place of the overlay's own.
build() {
    local overlay components copy
    read -r overlay components <<<"${variants[$1]}"
    copy=$(mktemp -d)
    cp -R "$root/deploy/kubernetes" "$root/deploy/postgres" "$copy"
    # shellcheck disable=SC2086 # one word a component
    sed -i -e '\|^  - \.\./components/|d' \
        -e "s|^components:|&$([ -z "$components" ] || printf '\\n  - ../components/%s' $components)|" \
        "$copy/kubernetes/$overlay/kustomization.yaml"
    kubectl kustomize "$copy/kubernetes/$overlay" >"$built/$1.yaml" || failed=1
    rm -rf "$copy"
}

for variant in "${!variants[@]}"; do
    build "$variant"
    # The tool words its answer by the order of Python sets, which the seed fixes.
    mkdir "$built/input"
    cp "$built/$variant.yaml" "$connectivity/outside.yaml" "$built/input"
    (cd "$built" && PYTHONHASHSEED=0 nca --connectivity --resource_list input --namespace_subset gatehouse 2>"$variant.log") |
        grep '^src' >"$built/$variant.txt" || { cat "$built/$variant.log" >&2; failed=1; }
    rm -r "$built/input"
    diff -u "$connectivity/$variant.txt" "$built/$variant.txt" || failed=1
done
kubectl kustomize "$root/deploy/examples/orders/kubernetes" >"$built/orders.yaml" || failed=1
# The other variants have no other objects. One without a schema, but for those of other projects, is of an API that is gone.
for version in $versions; do
    found=$({ kubernetes-validate --kubernetes-version "$version" --strict --quiet \
        "$built"/{all,development,ingress,orders}.yaml 2>&1 || true; } |
        grep -vE 'api version (gateway.networking.k8s.io|monitoring.coreos.com)/v1 ' || true)
    [ -z "$found" ] || { printf '%s\n' "$found" >&2; failed=1; }
done
[ "$failed" = 0 ] || fail "the manifests are not what they should be: where the connections are right, cp $built/*.txt $connectivity"
