#!/usr/bin/env bash
# Tries `make traces`: a trace whose spans come from two services, in several batches and one of them twice, is printed
# once and as a tree; what is no trace is refused.
# shellcheck source=own-state.sh
. "$(dirname "$0")/own-state.sh" traces
start traces "$local_scripts/traces.sh"
address=http://127.0.0.1:$(port traces)
await traces 30 curl -s -o /dev/null "$address"
expect "make traces prints the setting" grep -qF "GATEHOUSE_TRACES_ENDPOINT=$address " "$logs/traces.log"

# post TYPE BODY [PATH]: prints the status.
post() { curl -s -o /dev/null -w '%{http_code}' "$address${3:-/v1/traces}" -H "Content-Type: $1" -d "$2"; }
# attribute KEY VALUE
attribute() { printf '{"key":"%s","value":{"stringValue":"%s"}}' "$1" "$2"; }
# span ID PARENT NAME START END [ATTRIBUTES [STATUS]]: times in ms.
span() {
    printf '{"traceId":"%032d","spanId":"%s","parentSpanId":"%s","name":"%s","kind":2,"startTimeUnixNano":"%s000000",
        "endTimeUnixNano":"%s000000","attributes":[%s,%s],"status":{%s}}' 7 "$1" "$2" "$3" "$4" "$5" \
        "$(attribute gatehouse.request_id why-slow-1)" "${6:-$(attribute server.address here)}" "${7:-}"
}
# batch SERVICE SPAN
batch() {
    printf '{"resourceSpans":[{"resource":{"attributes":[%s]},"scopeSpans":[{"scope":{},"spans":[%s]}]}]}' \
        "$(attribute service.name "$1")" "$2"
}
select=$(span c1 b1 'SELECT users' 1012 1013 "$(attribute db.system.name postgresql)")
served=$(span b1 a2 'POST /v1/auth/login' 1010 1030 '{"key":"http.response.status_code","value":{"intValue":"503"}}' '"code":2')
expect "children may come first" test "$(post application/json "$(batch identity "$select,$served")")" = 200
expect "and a batch twice" test "$(post application/json "$(batch identity "$select,$served")")" = 200
root="$(span a2 a1 'POST identity' 1005 1032),$(span a1 '' 'POST /v1/auth/login' 1000 1034)"
expect "JSON with its character set is JSON" \
    test "$(post 'application/json; charset=utf-8' "$(batch gateway "$root")")" = 200
expect "protobuf is refused" test "$(post application/x-protobuf "$(batch gateway "$root")")" = 415
expect "what is no JSON is refused" test "$(post application/json '{')" = 400
expect "what has another form is refused" test "$(post application/json '{"resourceSpans":[{"scopeSpans":[7]}]}')" = 400
expect "another path is refused" test "$(post application/json '{}' /v1/metrics)" = 404

wait_until 30 grep -q 'trace 0' "$logs/traces.log" || fail "no trace is printed"
expect "the trace is printed once, as a tree" diff - <(sed -n '/ms, trace/,$p' "$logs/traces.log") <<'END'
34.0 ms, trace 00000000000000000000000000000007, request why-slow-1
gateway   POST /v1/auth/login           0.0     34.0
gateway     POST identity               5.0     27.0
identity      POST /v1/auth/login      10.0     20.0  ! 503
identity        SELECT users           12.0      1.0  postgresql
END
