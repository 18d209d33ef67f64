#!/usr/bin/env bash
# Starts the system, prints commands to try it with, and stops it again on Ctrl-C.
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"

# What ran before is left alone by a start that fails.
was_running=
if any_alive; then was_running=yes; fi
ready=

ended() {
    trap - EXIT
    trap '' INT TERM HUP
    if [ -n "$ready" ] || [ -z "$was_running" ]; then
        say
        note "Stopping"
        system_down
    fi
    exit "$1"
}
trap 'ended $?' EXIT
trap 'ended 0' INT TERM HUP

system_up
ready=yes
say
walkthrough
say
say "Logs: $logs    Mail: $state/mail    Ctrl-C stops everything."

# Runs until it is stopped, here or by `make down`.
reported=
while [ -f "$state/env" ]; do
    sleep 1
    for name in $all_names; do
        case " $reported " in *" $name "*) continue ;; esac
        if dead "$name" && [ -f "$state/env" ]; then
            warn "$name has ended; its log is $logs/$name.log. In another terminal, make up starts it again."
            reported="$reported $name"
        fi
    done
done
