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
