#!/usr/bin/env bash
# Uses the operators' console of a system of its own with a headless Chromium and a keyboard: sign in, find, disable,
# sign out, see it in the audit; help with identifiers and roles, new proofs, the operator's own session, outages, names
# that are markup. GATEHOUSE_SCREENSHOTS names a folder that gets the screenshots.
root=$(cd "$(dirname "$0")/../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-console
# What the developer's own shell may say about another copy.
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT
# A busy machine is slow, which is not what is tried here.
export GATEHOUSE_PATIENCE_MS=20000
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"

screenshots=${GATEHOUSE_SCREENSHOTS:-$state/screenshots}
# The services would refuse a setting that is none of theirs.
unset GATEHOUSE_SCREENSHOTS
tools=$local_scripts/console

cleanup() { "$local_scripts/down.sh" >/dev/null; }

# person NAME ROLE IDENTIFIER: whose password is "NAME password"
person() {
    printf '%s password\n' "$1" | "$local_scripts/service.sh" identity users create --password-stdin \
        --role "$2" --identifier "$3" "${@:4}" >/dev/null
}

ensure_tools chromium python3
# Whatever an earlier run left.
if [ -d "$state" ]; then cleanup; fi
rm -rf "$state"
mkdir -p "$state" "$screenshots"
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

GATEHOUSE_PORT_BASE=$(free_port_base)
export GATEHOUSE_PORT_BASE
"$local_scripts/up.sh"
set -a
# shellcheck source=/dev/null
. "$state/env"
MAIL_FOLDER=$state/mail
set +a

note "People"
person operator operator operator@example.com --display-name Olga
person oskar operator oskar@example.com --display-name Oskar
person ada user ada@example.com --display-name Ada
person nobody user nobody@example.com --display-name Nobody
person mallory user mallory@example.com --display-name "<img src=x onerror=run()><script>run()</script>"
# More than a page of them. None signs in.
for number in $(seq 10 69); do
    printf '{"email": "crowd%s@example.com", "emailVerified": true}\n' "$number"
done | "$local_scripts/service.sh" identity users import - >/dev/null

note "The console"
PYTHONPATH=$local_scripts/parts python3 "$tools/check.py" "$screenshots" ||
    fail "the console is not as it should be: $screenshots"
note "The console is as it should be: $screenshots"
