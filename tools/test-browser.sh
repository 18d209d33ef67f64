#!/usr/bin/env bash
# test-browser.sh console|operator_page…   uses the operators' console, or the operator's page and /docs, of a system of
# its own in a headless Chromium. GATEHOUSE_SCREENSHOTS names a folder for pictures; no replica is hostile then.
. "$(dirname "$0")/parts/own-system.sh"

screenshots=${GATEHOUSE_SCREENSHOTS:-$state/screenshots}
# A busy machine is slow, which is not what is tried here.
export GATEHOUSE_PATIENCE_MS=20000

# user NAME ROLE DISPLAY-NAME: whose password is "NAME password"
user() {
    printf '%s password\n' "$1" | "$scripts/service.sh" identity users create --password-stdin \
        --role "$2" --identifier "$1@example.com" --display-name "$3" >/dev/null
}

ensure_packages
ensure_tools chromium python3
fetch_python_tools tools playwright==1.65.2 axe-playwright-python==0.1.8 requests==2.34.2
mkdir -p "$screenshots" "$keys"
if [ -z "${GATEHOUSE_SCREENSHOTS:-}" ]; then
    hostile=http://127.0.0.1:$((base + 17))
    start hostile python3 -m http.server --bind 127.0.0.1 --directory "$scripts/browser/hostile" $((base + 17))
    GATEWAY_DEVICES_URL="$(url devices),$hostile"
    export GATEWAY_DEVICES_URL GATEWAY_ROUTES_FILE=$state/routes.yaml HOSTILE=yes
    say "routes: [{name: <b onclick=run()>hostile</b>, path: /hostile, authentication: none, upstreams: ['$hostile']}]" \
        >"$GATEWAY_ROUTES_FILE"
fi
# Such a file says since when its key signs.
build_system
"$binaries/tokens" keys generate --development --signing-key-file "$keys/access-token-private.pem" \
    --public-key-file "$keys/access-token-public.pem"
system_up
user operator operator Olga
user ada user Ada
export_file "$state/env"
failed=
for name in "$@"; do
    note "In the browser: $name"
    "$tools/bin/python" "$scripts/browser/$name.py" "$screenshots" || failed+=" $name"
done
[ -z "$failed" ] || fail "not as it should be:$failed"
note "As it should be: $*; pictures are in $screenshots"
