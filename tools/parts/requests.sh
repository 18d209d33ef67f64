# Requests to `server`, and their answers: header fields in $state/fields, the body in $state/answer.

# request METHOD PATH [BODY [BEARER]]: sets `status`, 000 where there is no answer, and `milliseconds`.
request() {
    local words=()
    if [ -n "${3:-}" ]; then words+=(-H 'Content-Type: application/json' -d "$3"); fi
    if [ -n "${4:-}" ]; then words+=(-H "Authorization: Bearer $4"); fi
    read -r status milliseconds < <(curl -s --max-time 30 -X "$1" "$server$2" -o "$state/answer" -D "$state/fields" \
        -w '%{http_code} %{time_total}\n' "${words[@]}" | awk '{ print $1, int($2 * 1000) }')
}

# want STATUS METHOD PATH [BODY [BEARER]]
want() {
    request "${@:2}"
    [ "$status" = "$1" ] || fail "$2 $3: want $1, not $status: $(cat "$state/answer")"
}

# answer FILTER: what jq finds in the body.
answer() { jq -r "$1" "$state/answer"; }
