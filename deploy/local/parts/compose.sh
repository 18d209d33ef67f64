# shellcheck shell=bash
# A Python that reads docker-compose.yml, and its schema, under .local/tools. Sourced, never run.

# It carries the schema of the compose specification.
check_jsonschema_version=0.39.0

# Sets `compose_tools`, a folder with `python` and `check-jsonschema`.
ensure_compose_tools() {
    compose_tools=$root/.local/tools/compose-$check_jsonschema_version/bin
    if [ -x "$compose_tools/check-jsonschema" ]; then return; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv ||
        fail "python3-venv is missing, and installing it needs root"
    note "Fetching check-jsonschema $check_jsonschema_version"
    python3 -m venv "$(dirname "$compose_tools")" || fail "could not make a Python environment"
    "$compose_tools/pip" install -q --disable-pip-version-check "check-jsonschema==$check_jsonschema_version" ||
        fail "check-jsonschema $check_jsonschema_version could not be fetched from PyPI"
}
