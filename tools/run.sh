#!/usr/bin/env bash
# Starts the system, prints commands to try it with, and stops it again on Ctrl-C.
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

# Runs until it is stopped, here or by `make down`. The file of a process that has ended is its report.
while sleep 1 && [ -f "$state/env" ]; do
    for name in $all_names; do
        if [ -f "$run/$name.pid" ] && dead "$name"; then
            warn "$name has ended; its log is $logs/$name.log. In another terminal, make up starts it again."
            rm -f "$run/$name.pid"
        fi
    done
done
