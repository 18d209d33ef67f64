#!/usr/bin/env bash
# Looks at the operator's page and at /docs of a system of its own with a headless Chromium: what they show, by day and by
# night, with a replica and a route whose words are markup, and with a gateway that does not answer. GATEHOUSE_SCREENSHOTS
# names a folder that gets the screenshots.
root=$(cd "$(dirname "$0")/../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-operator
# What the developer's own shell may say about another copy.
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT
# A busy machine is slow, which is not what is tried here.
export GATEHOUSE_PATIENCE_MS=20000
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"

screenshots=${GATEHOUSE_SCREENSHOTS:-$state/screenshots}
# The services would refuse a setting that is none of theirs.
unset GATEHOUSE_SCREENSHOTS
tools=$local_scripts/operator
replica=

cleanup() {
    [ -z "$replica" ] || kill "$replica" 2>/dev/null || true
    "$local_scripts/down.sh" >/dev/null
}

ensure_tools chromium python3
# Whatever an earlier run left.
if [ -d "$state" ]; then "$local_scripts/down.sh" >/dev/null; fi
rm -rf "$state"
mkdir -p "$state" "$screenshots"
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

python3 "$tools/hostile.py" "$state/hostile" &
replica=$!
wait_until 20 test -s "$state/hostile" || fail "the hostile replica does not start"
GATEHOUSE_PORT_BASE=$(free_port_base)
export GATEHOUSE_PORT_BASE
# By which `url` counts.
base=$GATEHOUSE_PORT_BASE
GATEWAY_DEVICES_URL="$(url devices),http://127.0.0.1:$(cat "$state/hostile")"
GATEWAY_ROUTES_FILE=$state/routes.yaml
export GATEWAY_DEVICES_URL GATEWAY_ROUTES_FILE
cat >"$GATEWAY_ROUTES_FILE" <<END
routes:
  - name: <b onclick=run()>hostile</b>
    path: /hostile
    authentication: none
    upstreams: ["http://127.0.0.1:$(cat "$state/hostile")"]
END
# Such a file says since when its key signs.
build_release
mkdir -p "$keys"
"$binaries/tokens" keys generate --development --signing-key-file "$keys/access-token-private.pem" \
    --public-key-file "$keys/access-token-public.pem"
"$local_scripts/up.sh"
set -a
# shellcheck source=/dev/null
. "$state/env"
set +a
PYTHONPATH=$local_scripts/parts python3 "$tools/check.py" "$screenshots" || fail "the pages do not show what they should: $screenshots"
note "The operator's page and /docs are as they should be: $screenshots"
