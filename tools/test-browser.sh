#!/usr/bin/env bash
# test-browser.sh console|operator…   uses the operators' console, or the operator's page and /docs, of a system of its own
# in a headless Chromium: with the keyboard alone, with names and replicas whose words are markup, and with axe.
# GATEHOUSE_SCREENSHOTS names a folder that gets the pictures; the system then has no hostile replica, since documents
# show the pictures.
root=$(cd "$(dirname "$0")/.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-browser
# What the developer's own shell may say about another copy.
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT
# A busy machine is slow, which is not what is tried here.
export GATEHOUSE_PATIENCE_MS=20000
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"

selenium_version=4.51.0
# For axe.min.js, which is all that is used of it: axe 4.12.1.
axe_playwright_version=0.1.8
tools=$root/.local/tools/selenium-$selenium_version-axe-$axe_playwright_version
screenshots=${GATEHOUSE_SCREENSHOTS:-$state/screenshots}
# The services would refuse a setting that is none of theirs.
unset GATEHOUSE_SCREENSHOTS
replica=

cleanup() {
    [ -z "$replica" ] || kill "$replica" 2>/dev/null || true
    "$scripts/down.sh" >/dev/null
}

# user NAME ROLE DISPLAY-NAME: whose password is "NAME password"
user() {
    printf '%s password\n' "$1" | "$scripts/service.sh" identity users create --password-stdin \
        --role "$2" --identifier "$1@example.com" --display-name "$3" >/dev/null
}

ensure_tools chromium chromedriver=chromium-driver python3
if [ ! -f "$tools/axe" ]; then
    fetch_python_tools "$tools" "selenium==$selenium_version"
    "$tools/bin/pip" install -q --disable-pip-version-check --no-deps "axe-playwright-python==$axe_playwright_version"
    touch "$tools/axe"
fi
# Whatever an earlier run left.
if [ -d "$state" ]; then "$scripts/down.sh" >/dev/null; fi
rm -rf "$state"
mkdir -p "$state" "$screenshots" "$keys"
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

GATEHOUSE_PORT_BASE=$(free_port_base)
export GATEHOUSE_PORT_BASE
# By which `url` counts.
base=$GATEHOUSE_PORT_BASE
if [ "$screenshots" = "$state/screenshots" ]; then
    hostile=$(free_port)
    python3 "$scripts/browser/hostile.py" "$hostile" 2>/dev/null &
    replica=$!
    GATEWAY_DEVICES_URL="$(url devices),http://127.0.0.1:$hostile"
    GATEWAY_ROUTES_FILE=$state/routes.yaml
    export GATEWAY_DEVICES_URL GATEWAY_ROUTES_FILE HOSTILE=yes
    cat >"$GATEWAY_ROUTES_FILE" <<END
routes:
  - name: <b onclick=run()>hostile</b>
    path: /hostile
    authentication: none
    upstreams: ["http://127.0.0.1:$hostile"]
END
fi
# Such a file says since when its key signs.
build_release
"$binaries/tokens" keys generate --development --signing-key-file "$keys/access-token-private.pem" \
    --public-key-file "$keys/access-token-public.pem"
"$scripts/up.sh"
user operator operator Olga
user ada user Ada
set -a
# shellcheck source=/dev/null
. "$state/env"
set +a
failed=
for name in "$@"; do
    note "In the browser: $name"
    case $name in
    console) file=console.py ;;
    operator) file=operator_page.py ;;
    *) fail "$name is none of console and operator" ;;
    esac
    "$tools/bin/python" "$scripts/browser/$file" "$screenshots" || failed+=" $name"
done
[ -z "$failed" ] || fail "not as it should be:$failed"
note "As it should be: $*; pictures are in $screenshots"
