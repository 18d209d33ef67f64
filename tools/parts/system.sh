# The whole system, up and down, with the parts that it needs.

for part in packages processes build keys postgres redis settings services; do
    . "$(dirname "${BASH_SOURCE[0]}")/$part.sh"
done

# Ports of what does not run yet: all are looked at before anything starts.
need_ports() {
    local name
    for name in $all_names; do
        if alive "$name"; then continue; fi
        need_port "$name" "$(port "$name")"
        case $name in
        postgres | redis) ;;
        *) need_port "$name (admin)" "$(admin_port "$name")" ;;
        esac
    done
    alive apple-simulator || need_port apns-simulator "$(port apns-simulator)"
}

keep_port_base() {
    if any_alive && [ -f "$run/port-base" ] && [ "$(cat "$run/port-base")" != "$base" ]; then
        fail "this copy runs with GATEHOUSE_PORT_BASE=$(cat "$run/port-base"): make down first"
    fi
    say "$base" >"$run/port-base"
}

# Starts what is missing and returns when all is ready.
system_up() {
    local name started=
    ensure_packages
    build_system
    lock_state
    keep_port_base
    ensure_keys
    need_ports
    if dead postgres; then
        make_cluster "$state/postgres"
        start_postgres postgres "$state/postgres" "$(port postgres)" -c max_connections=200
        started+=" postgres"
    fi
    # Also when PostgreSQL runs: a start that was interrupted may have left it without them. A service that runs has its own.
    for name in identity tokens devices; do
        if dead "$name"; then make_database "$name"; fi
    done
    if dead redis; then
        start_redis "$state/redis" "$(port redis)"
        started+=" redis"
    fi
    for name in $service_names; do
        if alive "$name"; then continue; fi
        start_service "$name"
        started+=" $name"
    done
    for name in $service_names; do await_service "$name"; done
    write_env
    unlock_state
    if [ -n "$started" ]; then note "Started:$started"; else note "Everything runs already"; fi
    note "Gatehouse is ready at $(url gateway)"
}

system_down() {
    lock_state
    rm -f "$state/env"
    stop gateway
    stop identity devices tokens apple-simulator
    stop redis postgres
    rm -f "$run/port-base"
    unlock_state
}
