#!/usr/bin/env bash
# Tries lint-openapi.sh and openapi-breaking.py: on a copy each slip is refused, with what is said of it; what may come
# passes, and so does what breaks where the changelog says so.
root=$(cd "$(dirname "$0")/../../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-openapi
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$local_scripts/parts/packages.sh"
# shellcheck source=../parts/openapi.sh
. "$local_scripts/parts/openapi.sh"
# shellcheck source=expectations.sh
. "$local_scripts/checks/expectations.sh"

ensure_tools jq python3
ensure_openapi_tools
tree=$state/tree
rm -rf "$state"
trap 'rm -rf "$state"' EXIT
mkdir -p "$tree/deploy/local/parts" "$tree/docs"
cp -r "$root/Services" "$root/Shared" "$tree"
cp -r "$root/docs/openapi" "$root/docs/api.md" "$tree/docs"
cp "$root/CHANGELOG.md" "$tree"
cp "$root/deploy/local/openapi.py" "$tree/deploy/local"
cp "$root/deploy/local/parts/api_page.py" "$tree/deploy/local/parts"

expect "the files as they are pass" "$local_scripts/lint/lint-openapi.sh" "$tree"

refused_for() {
    local finding=$1
    shift
    ! "$@" 2>"$state/findings" && grep -qF -- "$finding" "$state/findings"
}

# change FILE EDIT: jq's filter for JSON, else sed's expression. Keeps the file as it was.
change() {
    cp "$tree/$1" "$state/kept"
    case $1 in
    *.json) jq "$2" "$state/kept" >"$tree/$1" ;;
    *) sed -i "$2" "$tree/$1" ;;
    esac
    if cmp -s <(jq -S . "$tree/$1" 2>/dev/null || cat "$tree/$1") <(jq -S . "$state/kept" 2>/dev/null || cat "$state/kept"); then
        fail "there is nothing to change in $1: $2"
    fi
}

# drifts WHAT FINDING FILE EDIT: for as long as it takes.
drifts() {
    change "$3" "$4"
    expect "refused: $1" refused_for "$2" "$openapi_python" "$local_scripts/lint/lint-openapi.py" "$tree"
    cp "$state/kept" "$tree/$3"
}

openapi=docs/openapi
drifts "a route that is not described" "lacks GET /v1/auth/photo" Services/identity/Sources/Accounts/AccountRoutes.swift \
    's|router.get("/v1/auth/export"|router.get("/v1/auth/photo"|'
drifts "a route that nobody serves" "has DELETE /v1/auth/photo, which no source has" $openapi/identity.json \
    '.paths["/v1/auth/photo"].delete = (.paths["/v1/auth/account"].delete | .operationId = "deletePhoto")'
drifts "another method" "lacks PUT /v1/auth/me" Services/identity/Sources/Accounts/AccountRoutes.swift \
    's|router.patch("/v1/auth/me"|router.put("/v1/auth/me"|'
drifts "a route whose path cannot be read" "cannot be read here: .get(path" \
    Services/devices/Sources/Registration/DeviceRoutes.swift 's|router.get("/v1/devices"|router.get(path|'
drifts "another caller" "x-callers is" Services/tokens/Sources/Sessions/InternalRoutes.swift \
    's/callers: "gateway", "devices"/callers: "gateway"/'
drifts "a public route without its bearer" "the bearer is none" Shared/Contracts/Gateway/PublicRoute.swift \
    's|"/v1/auth/export", .identity, .required|"/v1/auth/export", .identity, .none|'
drifts "a public route of another service" "docs/openapi/identity.json: lacks /v1/devices" \
    Shared/Contracts/Gateway/PublicRoute.swift 's|"/v1/devices", .devices|"/v1/devices", .identity|'
drifts "a new code" "the codes are not those of ErrorCode.swift" Shared/Contracts/ErrorCode.swift \
    's/case timeout = "TIMEOUT"/case timeout = "TIMED_OUT"/'
drifts "another status" "the example of IDENTIFIER_TAKEN" Shared/Contracts/ErrorCode.swift 's/identifierTaken: 409/identifierTaken: 422/'
drifts "a code under another status" "answers WEAK_PASSWORD with 409" $openapi/identity.json \
    '.paths["/v1/auth/register"].post.responses |= (.["409"] = .["422"])'
drifts "a code of OAuth that is not described" "the codes of OAuth" Services/tokens/Sources/OAuth/OAuthRoutes.swift \
    's/"invalid_scope"/"invalid_reach"/'
drifts "a new field" "nickname is a field in the source" Shared/Contracts/Identity/User.swift \
    's/public var phone: String?/&\n    public var nickname: String?/'
drifts "a field that became optional" "expiresIn is optional" Shared/Contracts/Tokens/Session.swift \
    's/public var expiresIn: Int$/&?/'
drifts "a field of another type" "expiresIn is String" Shared/Contracts/Tokens/Session.swift \
    's/public var expiresIn: Int$/public var expiresIn: String/'
drifts "a field that cannot be read" "cannot be read here: public var email = String" Shared/Contracts/Identity/User.swift \
    's/public var email: String?/public var email = String("")/'
drifts "fields under other names" "cannot be read here" Shared/Contracts/Tokens/Session.swift \
    's/^    public var current: Bool/    enum CodingKeys: String, CodingKey { case current = "isCurrent" }\n&/'
drifts "a type without schema" "Ticket has no schema" Shared/Contracts/Tokens/Session.swift \
    "\$a public struct Ticket: Codable, Sendable {\n    public var id: String\n}"
drifts "a new value of an open set" "DeviceStatus: the source knows" Shared/Contracts/Devices/Device.swift \
    's/\[.active, .invalid\]/[.active]/'
operator=Services/gateway/Sources/Operator
drifts "a page of the admin port that is not described" "gateway.json: lacks GET /operator.svg" $operator/OperatorPage.swift \
    's|"/operator.css"|"/operator.svg"|'
drifts "a page of another kind" "GET /operator.css: the source says text/plain" $operator/OperatorPage.swift 's|text/css|text/plain|'
drifts "health that the admin port is not said to have" "gateway.json: lacks GET /readyz" $openapi/gateway.json \
    'del(.paths["/readyz"]["x-admin"])'
drifts "a page of the admin port among the public ones" "gateway.json: lacks GET /operator" $openapi/gateway.json \
    'del(.paths["/operator"].servers)'
drifts "a field of the operator's page" "OperatorStatus: replicasLeftOut is a field" $operator/OperatorStatus.swift \
    's/var replicasNotAsked/var replicasLeftOut/'
drifts "a field of it that became optional" "ReplicaStatus: address is optional" $operator/ReplicaStatus.swift \
    's/var address: String/&?/'
drifts "a state of a replica" "state is one of" $operator/ReplicaStatus.swift 's/case unreachable$/case away/'
drifts "a member of introspection that is not described" "are not those of Introspection" \
    Services/tokens/Sources/Introspection/Introspection.swift 's/case role$/case role = "roles"/'
drifts "another bound" "BundleID.swift says 200" Services/devices/Sources/Registration/RegistrationRules.swift \
    's/maximumLength = 155/maximumLength = 200/'
drifts "a figure in words" "PayloadTooLarge does not say" "Shared/ServiceKit/Requests/Request+decode.swift" 's/65_536/32_768/'
drifts "an example that does not fit" "an example does not fit its schema" $openapi/devices.json \
    '.paths["/v1/devices"].get.responses["200"].content["application/json"].example.devices[0].id = "1"'
drifts "a request whose field takes no null" "null" $openapi/identity.json \
    '.components.schemas.AppleSignInRequest.properties.nonce.type = "string"'
drifts "what is no OpenAPI" "is not valid OpenAPI" $openapi/tokens.json '.paths["/oauth/token"].post.responses = 1'
drifts "an answer without X-Request-Id" "lacks X-Request-Id" $openapi/tokens.json \
    'del(.paths["/v1/auth/sessions"].get.responses["200"].headers)'

is_not_public() { ! jq -e '.paths | has("/operator") or has("/metrics")' "$tree/$openapi/public.json" >/dev/null; }
expect "the admin port is not in public.json" is_not_public
change docs/api.md 's/Sign in with Apple/Sign in/'
expect "refused: docs/api.md by hand" refused_for "docs/api.md: is not up to date" \
    python3 "$tree/deploy/local/openapi.py" --check
cp "$state/kept" "$tree/docs/api.md"

published=Services/gateway/Sources/Documents/PublicDocumentTexts.swift
change $published 's/Sign in with Apple/Sign in/'
expect "refused: another text in the gateway" refused_for "$published: is not up to date" \
    python3 "$tree/deploy/local/openapi.py" --check
cp "$state/kept" "$tree/$published"

drifts "a document that is not described" "GET /manual" Services/gateway/Sources/Routing/RouteTableRules.swift \
    's|case page = "/docs"|case page = "/manual"|'
drifts "a console that is not described" "GET /desk/{file}" Services/gateway/Sources/Routing/RouteTableRules.swift \
    's|consolePath = "/console"|consolePath = "/desk"|'

# What was released, and what is now. `file` is the one that is changed.
released=$state/released current=$state/current changelog=$state/CHANGELOG.md
mkdir "$released" "$current"
cp "$root"/docs/openapi/*.json "$released"
printf '%s\n' '# Changelog' '' '## [Unreleased]' '' '- Something else.' >"$changelog"
file=public.json
breaking() { python3 "$local_scripts/lint/openapi-breaking.py" "$released" "$current" "$changelog"; }
edit() {
    cp "$released"/*.json "$current"
    jq "$1" "$released/$file" >"$current/$file"
    if cmp -s <(jq . "$released/$file") "$current/$file"; then fail "there is nothing to change: $1"; fi
}
breaks() {
    edit "$3"
    expect "breaks: $1" refused_for "$2" breaking
}
passes() {
    edit "$2"
    expect "may come: $1" breaking
}

schemas=.components.schemas
login='.paths["/v1/auth/login"].post'
breaks "a route is gone" "POST /v1/auth/login: is gone" 'del(.paths["/v1/auth/login"])'
breaks "a method is gone" "PATCH /v1/auth/me: is gone" 'del(.paths["/v1/auth/me"].patch)'
breaks "a request's field is needed" "displayName is needed" "$schemas.RegisterRequest.required += [\"displayName\"]"
breaks "a new field of a request is needed" "captcha is needed" \
    "$schemas.LoginRequest |= (.properties.captcha = {type: \"string\"} | .required += [\"captcha\"])"
breaks "a request's field is gone" "nonce is gone" "del($schemas.AppleSignInRequest.properties.nonce)"
breaks "null is no longer taken" "null is no longer taken" "$schemas.LogoutRequest.properties.refreshToken.type = \"string\""
breaks "a request's set is narrower" "values are no longer taken" "$schemas.Registration.properties.kind.enum -= [\"voip\"]"
breaks "a request's field is shorter" "maxLength was 155, is 100" "$schemas.Registration.properties.bundleId.maxLength = 100"
breaks "a request's field gets a bound" "minLength was None, is 1" "$schemas.RefreshRequest.properties.refreshToken.minLength = 1"
breaks "a request's field gets a pattern" "pattern was None" "$schemas.RefreshRequest.properties.refreshToken.pattern = \"^g\""
breaks "a body is needed" "a body is needed" '.paths["/v1/auth/logout"].post.requestBody.required = true'
breaks "a media type is gone" "application/x-www-form-urlencoded is gone" \
    '.paths["/oauth/token"].post.requestBody.content |= with_entries(.key = "application/json")'
breaks "a parameter is needed" "X-Request-Id: is needed" '.components.parameters.RequestId.required = true'
breaks "a bearer is needed" "security: nothing is no longer enough" "$login.security = [{bearer: []}]"
breaks "an optional bearer is needed" "security: nothing is no longer enough" \
    '.paths["/v1/auth/logout"].post.security = [{bearer: []}]'
breaks "an answer's field is gone" "user is gone" "del($schemas.AuthResponse.properties.user)"
breaks "an answer's field may be missing" "expiresAt may be missing" "$schemas.AuthResponse.required -= [\"expiresAt\"]"
breaks "an answer's field may be null" "may be null" "$schemas.User.properties.email.type = [\"string\", \"null\"]"
breaks "an answer's field has another type" "type was ['integer']" "$schemas.AuthResponse.properties.expiresIn.type = \"string\""
breaks "an answer's field has another form" "pattern was" "$schemas.Identifier.pattern = \"^.*$\""
breaks "an answer's field is longer" "maxLength was 254" "$schemas.User.properties.email.maxLength = 500"
breaks "a value of an open set is gone" "password is gone" "$schemas.AuthProvider[\"x-extensible-enum\"] -= [\"password\"]"
breaks "an open set is closed" "no longer open" \
    "$schemas.AuthProvider |= (.enum = .[\"x-extensible-enum\"] | del(.[\"x-extensible-enum\"]))"
breaks "another success" "200 is gone" "$login.responses |= with_entries(if .key == \"200\" then .key = \"202\" else . end)"
breaks "a code is gone" "WEAK_PASSWORD is gone" '.components.responses.WeakPassword["x-codes"] = ["POOR_PASSWORD"]'
breaks "a header is gone" "the header Retry-After is gone" 'del(.components.responses.RateLimited.headers["Retry-After"])'
breaks "a header may be missing" "X-Request-Id may be missing" '.components.headers.RequestId.required = false'
breaks "another name for clients" "operationId was signIn" "$login.operationId = \"login\""
breaks "what the script does not know" "cannot judge it" "$schemas.User.additionalProperties = false"
passes "a route" '.paths["/v1/auth/photo"] = .paths["/v1/auth/me"]'
passes "an optional field of a request" "$schemas.LoginRequest.properties.hint = {type: [\"string\", \"null\"]}"
passes "a field of an answer" "$schemas.User |= (.properties.photo = {type: \"string\"} | .required += [\"photo\"])"
passes "a value of an open set" "$schemas.AuthProvider[\"x-extensible-enum\"] += [\"passkey\"]"
passes "a value that a request may have" "$schemas.Registration.properties.kind.enum += [\"widget\"]"
passes "a longer field of a request" "$schemas.Registration.properties.bundleId.maxLength = 300"
passes "a code and a status" "$login.responses[\"402\"] = {\"\$ref\": \"#/components/responses/Forbidden\"}"
passes "a body that is no longer needed" "$login.requestBody.required = false"
passes "other words" "$schemas.User.description = \"Somebody.\""

# What the services say to each other, and refer to in common.json.
sessions='.paths["/internal/sessions"].post'
file=tokens.json
breaks "an internal route is gone" "PUT /internal/users/{id}/snapshot: is gone" 'del(.paths["/internal/users/{id}/snapshot"])'
breaks "an internal request's field is needed" "reason is needed" \
    "$schemas.CreateSessionRequest |= (.properties.reason = {type: \"string\"} | .required += [\"reason\"])"
breaks "an internal answer's field is gone" "cursor is gone" "del($schemas.RevocationPage.properties.cursor)"
breaks "a caller is turned away" "devices may no longer call" '.paths["/internal/revocations"].get["x-callers"] -= ["devices"]'
passes "another caller" "${sessions}[\"x-callers\"] += [\"devices\"]"
passes "an optional field of an internal request" "$schemas.CreateSessionRequest.properties.reason = {type: [\"string\", \"null\"]}"
file=common.json
breaks "a field that a service's file refers to" "GET /internal/users/{id}/sessions 200.sessions[]: createdAt is gone" \
    "del($schemas.Session.properties.createdAt)"

file=gateway.json
breaks "a route of the admin port is gone" "GET /operator.json: is gone" 'del(.paths["/operator.json"])'
breaks "health of the admin port has another form" "status is gone" \
    '.paths["/readyz"]["x-admin"].get.responses["200"].content["application/json"].schema = {type: "object"}'

# What is meant to break is told, and where.
file=public.json
gone='del(.paths["/v1/auth/login"])'
# told LINE…: of the changelog.
told() { printf '%s\n' '# Changelog' '' "$@" >"$changelog"; }
told '## [Unreleased]' '' '- **Breaking** No more passwords:' "  \`POST /v1/auth/login\` is gone."
passes "a break that the changelog tells" "$gone"
told '## [Unreleased]' '' "- **Breaking** \`POST /v1/auth/register\` is gone."
breaks "the changelog tells another break" "CHANGELOG.md says nothing of it" "$gone"
told '## [Unreleased]' '' "- \`POST /v1/auth/login\` is gone."
breaks "the changelog does not say that it breaks" "CHANGELOG.md says nothing of it" "$gone"
told '## [Unreleased]' '' '## [0.9.0] - 2026-11-22' '' "- **Breaking** \`POST /v1/auth/login\` is gone."
breaks "the changelog tells it of a version that is out" "CHANGELOG.md says nothing of it" "$gone"
