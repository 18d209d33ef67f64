# shellcheck shell=bash
# Pythons that read and try descriptions in OpenAPI, under .local/tools. Sourced, never run.

openapi_spec_validator_version=0.9.0
jsonschema_version=4.26.0
schemathesis_version=4.32.5
openapi_python_client_version=0.29.1

# Sets `openapi_python` to one that knows OpenAPI 3.1 and JSON Schema.
ensure_openapi_tools() {
    local tools=$root/.local/tools/openapi-$openapi_spec_validator_version-$jsonschema_version
    openapi_python=$tools/bin/python
    fetch_python_tools "$tools" "openapi-spec-validator==$openapi_spec_validator_version" \
        "jsonschema==$jsonschema_version"
}

# Sets `schemathesis_bin` and `client_bin`, folders with the tools' programs. Each has a Python of its own: what one needs
# does not bind the other.
ensure_openapi_test_tools() {
    local schemathesis=$root/.local/tools/schemathesis-$schemathesis_version
    local client=$root/.local/tools/openapi-python-client-$openapi_python_client_version
    schemathesis_bin=$schemathesis/bin
    client_bin=$client/bin
    fetch_python_tools "$schemathesis" "schemathesis==$schemathesis_version"
    fetch_python_tools "$client" "openapi-python-client==$openapi_python_client_version"
}

# fetch_python_tools FOLDER REQUIREMENT…: unless they are there. The mark comes last, so that what was cut off is made anew.
fetch_python_tools() {
    local folder=$1
    shift
    if [ -f "$folder/complete" ]; then return; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv ||
        fail "python3-venv is missing, and installing it needs root"
    note "Fetching $*"
    rm -rf "$folder"
    python3 -m venv "$folder" || fail "could not make a Python environment"
    "$folder/bin/pip" install -q --disable-pip-version-check "$@" || fail "could not be fetched from PyPI: $*"
    touch "$folder/complete"
}
