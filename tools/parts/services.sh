# The four services and the Apple simulator.

start_service() {
    local name=$1
    choose_environment "$name"
    case $name in
    identity | tokens | devices)
        # DATABASE_PARTITIONS: the tables of a new database are partitioned.
        "${environment[@]}" "$binaries/$name" migrate up ${DATABASE_PARTITIONS:+--partitions "$DATABASE_PARTITIONS"} \
            >>"$logs/$name.log" 2>&1 || {
            # The steps were numbered before those of this version.
            if "${environment[@]}" "$binaries/$name" migrate status 2>/dev/null | grep -q ': replaced$'; then
                fail "the databases are those of an earlier version. To delete them with all accounts in them:
       make down; rm -rf $state/postgres; make up"
            fi
            show_log "$name"
            fail "the migrations of $name failed"
        }
        ;;
    esac
    start "$name" "${environment[@]}" "$binaries/$name" serve
}

service_ready() { curl -fs -o /dev/null --max-time 2 "$(admin_url "$1")/readyz"; }

await_service() { await "$1" 120 service_ready "$1"; }

# What scripts need to know of a running system.
write_env() {
    local name
    {
        for name in $service_names; do
            say "$(upper "$name")_URL=$(url "$name")"
            say "$(upper "$name")_ADMIN_URL=$(admin_url "$name")"
        done
        for name in identity tokens devices; do
            say "$(upper "$name")_DATABASE_URL=$(database_url "$name")"
        done
        say "REDIS_URL=redis://127.0.0.1:$(port redis)"
        for name in $all_names; do
            say "$(upper "$name")_PID=$(pid_of "$name")"
        done
    } >"$state/env.new"
    chmod 600 "$state/env.new"
    mv "$state/env.new" "$state/env"
}

# export_file FILE: puts its lines KEY=VALUE into the environment.
export_file() {
    set -a
    # shellcheck source=/dev/null
    . "$1"
    set +a
}

# The walk-through with this copy's addresses. Needs `binaries`. Without the command where it was not built.
walkthrough() {
    local absent=
    [ -x "$binaries/gatehouse" ] || absent='/^# The same with the command/,/^$/d'
    # shellcheck disable=SC2016 # envsubst replaces these and no others
    sed -e "$absent" "$scripts/walkthrough.txt" |
        MAIL_FOLDER=$state/mail GATEWAY_URL=$(url gateway) APPLE_SIMULATOR_URL=$(url apple-simulator) \
            GATEHOUSE=$(printf '%q' "$binaries/gatehouse") DEVICES_URL=$(url devices) \
            PUSH_CREDENTIAL=$(grep -o 'dev-[0-9a-f]*' "$keys/push-callers.yaml") \
            envsubst '$MAIL_FOLDER $GATEWAY_URL $APPLE_SIMULATOR_URL $GATEHOUSE $DEVICES_URL $PUSH_CREDENTIAL'
}
