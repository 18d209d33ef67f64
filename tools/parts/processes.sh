# Background processes. Each is known by its id and the time it started, since ids are used again.

# start_time PID: nothing when there is no such process, or when it only waits to be collected by its parent.
start_time() {
    # By the shell itself: this is asked dozens of times for each start.
    local line fields
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    # The name in brackets may hold spaces. The state follows, and 19 fields later the start.
    read -ra fields <<<"${line##*) }"
    [ "${fields[0]}" = Z ] || say "${fields[19]}"
}

# start NAME COMMAND…: the command must be a program, so that $! is its own id. By `set -m` it has a process group of
# its own: Ctrl-C at the terminal reaches the script alone, which then stops everything in order.
start() {
    local pid
    set -m
    "${@:2}" </dev/null >>"$logs/$1.log" 2>&1 9>&- &
    pid=$!
    disown
    set +m
    printf '%s %s\n' "$pid" "$(start_time "$pid")" >"$run/$1.pid"
}

pid_of() { cut -d ' ' -f 1 "$run/$1.pid"; }

alive() {
    [ -f "$run/$1.pid" ] || return 1
    local pid started
    read -r pid started <"$run/$1.pid" || return 1
    [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ]
}

dead() { ! alive "$1"; }

any_alive() {
    local name
    for name in $all_names; do
        if alive "$name"; then return 0; fi
    done
    return 1
}

# await NAME SECONDS COMMAND…: until the command says that NAME is ready; otherwise shows why it is not.
await() {
    local name=$1
    # shellcheck disable=SC2317,SC2329 # called by wait_until
    ready_or_dead() { "$@" || dead "$name"; }
    if wait_until "$2" ready_or_dead "${@:3}" && alive "$name"; then return; fi
    show_log "$name"
    if alive "$name"; then fail "$name was not ready within $2 s"; else fail "$name ended while it started"; fi
}

# stop NAME…: asks all at once, waits, and ends by force what has not ended in time.
stop() {
    local name signal
    for name in "$@"; do
        # SIGINT is PostgreSQL's quick and clean shutdown; at SIGTERM it would wait for clients.
        case $name in postgres*) signal=INT ;; *) signal=TERM ;; esac
        # A stopped process hears the signal only once it continues.
        if alive "$name"; then
            kill "-$signal" "$(pid_of "$name")" 2>/dev/null || true
            kill -CONT "$(pid_of "$name")" 2>/dev/null || true
        fi
    done
    for name in "$@"; do
        if alive "$name" && ! wait_until 15 dead "$name"; then
            warn "$name did not end within 15 s and is killed"
            kill -KILL "$(pid_of "$name")" || true
            wait_until 5 dead "$name" || true
        fi
        rm -f "$run/$name.pid"
    done
}

# Whether something accepts connections on a port of this machine.
port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

port_closed() { ! port_open "$1"; }

# take_ports VARIABLE: sets it to the first of 20 free ports, outside the range from which the system gives out ports.
# The script and its servers hold the lock by the open file. In a subshell it would end with the subshell.
take_ports() {
    local first offset lock
    mkdir -p "/tmp/gatehouse-ports.$UID"
    while :; do
        first=$((20000 + RANDOM % 600 * 20))
        exec {lock}>"/tmp/gatehouse-ports.$UID/$first"
        if flock -n "$lock"; then
            for ((offset = 0; offset < 20; offset++)); do port_closed $((first + offset)) || break; done
            [ "$offset" -lt 20 ] || break
        fi
        exec {lock}>&-
    done
    printf -v "$1" '%s' "$first"
}

# need_port NAME PORT: a process that was just killed may need a moment to let go of its port.
need_port() {
    wait_until 3 port_closed "$2" ||
        fail "$1 needs port $2, which is in use. Find its holder (ss -ltnp), or choose other ports: GATEHOUSE_PORT_BASE=9080 make up"
}

show_log() {
    printf '%s\n' "--- the end of $logs/$1.log ---" >&2
    tail -n 25 "$logs/$1.log" >&2 || true
    printf '%s\n' "---" >&2
}
