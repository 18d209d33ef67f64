#!/usr/bin/env bash
# docs.sh [manual]   builds the manual (mkdocs.yml) under .local/docs, and, unless the argument is there, the client
# library's documentation (DocC) under .local/docs/client, for the root of a web server. A warning is an error.
. "$(dirname "$0")/parts/packages.sh"

cd "$root"
note "The manual"
fetch_python_tools tools mkdocs-material==9.8.2
manual=$root/.local/manual
rm -rf "$manual"
mkdir -p "$manual"
# Pages, and the files that they link to. git knows what builds have left in the tree.
git ls-files -z --cached --others --exclude-standard -- '*.md' '*.png' '*.svg' LICENSE docs/openapi 'deploy/examples/*.py' \
    'deploy/examples/*.mjs' deploy/postgres | tar --null -T - -cf - | tar -xf - -C "$manual"
# Links between articles in DocC's form.
for article in Client/GatehouseClient/GatehouseClient.docc/*.md; do
    sed -E 's/<doc:([A-Za-z]+)>/[\1](\1.md)/g' "$article" >"$manual/$article"
done
NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build || fail "the manual has faults"
if [ "${1:-}" = manual ]; then
    note "Written to .local/docs"
    exit
fi

note "The client library"
# Client/Package.swift fetches the plugin for this alone.
export GATEHOUSE_DOCS=1
client=$root/.local/docs/client
swift package --package-path Client --scratch-path .build-docs --allow-writing-to-directory "$client" \
    generate-documentation --target GatehouseClient --warnings-as-errors --transform-for-static-hosting \
    --hosting-base-path client --output-path "$client" || fail "the documentation has faults"
note "Written to .local/docs"
