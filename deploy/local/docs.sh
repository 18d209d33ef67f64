#!/usr/bin/env bash
# docs.sh   writes the client library's documentation to .local/docs, as pages for any web server of files. A warning of
# DocC's, such as a link that leads nowhere, is an error.
# shellcheck source=parts/common.sh
. "$(dirname "$0")/parts/common.sh"

# Package.swift fetches the plugin for this alone.
export GATEHOUSE_DOCS=1
mkdir -p "$state"
cd "$root"
note "Documenting"
swift package --scratch-path .build-docs --allow-writing-to-directory "$state/docs" \
    generate-documentation --target GatehouseClient --warnings-as-errors --transform-for-static-hosting \
    --output-path "$state/docs" || fail "the documentation has faults"
note "Written to ${state#"$root"/}/docs"
