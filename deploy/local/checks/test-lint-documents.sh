#!/usr/bin/env bash
# Tries the rules of lint-documents.sh: on a copy of the tree each mistake is refused, with what it says of it.
root=$(cd "$(dirname "$0")/../../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-lint-documents
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=expectations.sh
. "$local_scripts/checks/expectations.sh"
# shellcheck source=refusals.sh
. "$local_scripts/checks/refusals.sh"

tree=$state/tree
rm -rf "$state"
trap 'rm -rf "$state"' EXIT
mkdir -p "$tree"
tar -C "$root" --exclude='.build*' -cf - \
    Services Shared Tests Client docs deploy .github .ci Package.swift Makefile docker-compose.yml ./*.md LICENSE | tar -C "$tree" -xf -

check() { "$local_scripts/lint/lint-documents.sh" "$tree"; }
expect "the documents as they are pass" check

migration=Services/devices/Sources/Migrations/0001_init.up.sql
refuses "a new column that the page does not have" "no column devices.devices.badge" \
    $migration 's/^    status_reason .*/    badge integer,\n&/'
refuses "a column that is gone" "names the column devices.devices.model, which no migration makes" \
    $migration '/^    model /d'
refuses "a column of another type" "devices.devices.token is bytea: it is text" \
    $migration 's/^    token  *bytea /    token text /'
refuses "a column that may be NULL now" "devices.devices.bundle_id is text: it is text?" \
    $migration 's/^    bundle_id .*/    bundle_id text,/'
refuses "a new index" "no index tokens.sessions: sessions_by_use" \
    Services/tokens/Sources/Migrations/0003_epoch.up.sql "\$aCREATE INDEX sessions_by_use ON sessions (rotated_at);"
refuses "a dropped index" "index identity.audit: audit_by_user, which no migration makes" \
    Services/identity/Sources/Migrations/0004_audit_age.up.sql "\$aDROP INDEX audit_by_user;"
refuses "a statement that nobody taught the check" "does not know what this does" \
    Services/identity/Sources/Migrations/0004_audit_age.up.sql "\$aCREATE TYPE state AS ENUM ('on');"
refuses "a table that the page makes up" "names the table tokens.tickets" \
    docs/database.md 's/^### .sweeps.$/### \x60tickets\x60/'

refuses "a link to nowhere" "links to ../CONTRIBUTING.md#no-such-place" \
    docs/teams.md 's/#changing-a-contract/#no-such-place/'
refuses "a test that was renamed" "names T/TokensTests/RotationRulesTest.swift" \
    SECURITY.md 's/RotationRulesTests/RotationRulesTest/'
refuses "a setting that no source knows" "names the setting TOKENS_RETRY_WINDOWS" \
    SECURITY.md 's/TOKENS_RETRY_WINDOW/&S/'
refuses "a target that the Makefile does not have" "names make sboms" SECURITY.md 's/make sbom/make sboms/'
refuses "a target in a command" "names make prometheuses" deploy/observability/README.md 's/^make prometheus/&es/'
refuses "a target behind a variable" "names make ups" README.md 's/^GATEHOUSE_PORT_BASE=9080 make up/&s/'
refuses "a target whose name begins in another line" "names make simulates" CONTRIBUTING.md 's/make simulate/make\nsimulates/'
refuses "a script that was renamed, in a command" "names deploy/local/run-service.sh" \
    docs/operations/backup.md 's|local/service.sh tokens|local/run-service.sh tokens|'
refuses "a setting that no source knows, in a service's page" "names the setting DEVICES_TOKENS_ADDRESS" \
    Services/devices/README.md 's/DEVICES_TOKENS_URL/DEVICES_TOKENS_ADDRESS/'
refuses "a setting that no source knows, in a command" "names the setting TOKENS_ACCESS_LIFETIME" \
    README.md 's/TOKENS_ACCESS_TOKEN_LIFETIME=60/TOKENS_ACCESS_LIFETIME=60/'
refuses "a link to nowhere in the app's pages" "links to docs/no-such-page.md" \
    README-ios.md 's|(docs/auth-ios.md)|(docs/no-such-page.md)|'
refuses "a line that is too long" "has a line of" Client/README.md '3s/.*/& & &/'
changelog=$tree/CHANGELOG.md
cp "$changelog" "$state/kept-file"
sed -i 's/^### For whoever runs it/- **Breaking** \x60TOKENS_OLD_WINDOW\x60 is gone.\n\n&/' "$changelog"
expect "a changelog may name a setting that is gone" check
cp "$state/kept-file" "$changelog"
refuses "a decision that the index does not list" "does not list the folder's pages" \
    docs/decisions/README.md '/0004-/d'
refuses "a decision without its consequences" "0005-a-gateway-of-our-own.md does not have the headings" \
    docs/decisions/0005-a-gateway-of-our-own.md '/^## Consequences/d'
refuses "a page for operators that no index lists" "does not list docs/operations/backup.md" deploy/README.md '/backup.md/d'
refuses "a version without its section" "newest version is" CHANGELOG.md 's/^## \[0\.9\.0\]/## [0.8.0]/'
refuses "two owners of one folder" "edge owns Services/gateway, in .github/CODEOWNERS it is push" \
    .github/CODEOWNERS '/^\/Services\/gateway/s/edge/push/'
refuses "a contract that another team owns" "sessions owns docs/openapi/tokens.json, in .github/CODEOWNERS it is platform" \
    .github/CODEOWNERS '/openapi.tokens/d'
refuses "a contract that nobody answers for" "no team answers for docs/openapi/devices.json" \
    docs/teams.md 's/; .docs.openapi.devices.json.//'
refuses "alerts that nobody is on call for" "redis.yml is in one of them" docs/teams.md 's/, .redis\.yml.//'
refuses "a package without its licence" "docs/licences.md does not have swift-nio 2." \
    docs/licences.md '/^| \[swift-nio\]/d'
refuses "a package of the images without its licence" "docs/licences.md does not have libpq5" \
    docs/licences.md '/^| libpq5 /d'
