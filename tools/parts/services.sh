# shellcheck shell=bash
# The four services and the Apple simulator.

start_service() {
    local name=$1
    choose_environment "$name"
    case $name in
    identity | tokens | devices)
        "${environment[@]}" "$binaries/$name" migrate up >>"$logs/$name.log" 2>&1 || {
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
        for name in gateway identity tokens devices apple-simulator; do
            say "$(upper "$name")_URL=$(url "$name")"
        done
        for name in gateway identity tokens devices apple-simulator; do
            say "$(upper "$name")_ADMIN_URL=$(admin_url "$name")"
        done
        for name in identity tokens devices; do
            say "$(upper "$name")_DATABASE_URL=$(database_url "$name")"
        done
        say "REDIS_URL=$(redis_url)"
        for name in gateway identity tokens devices apple-simulator postgres redis; do
            say "$(upper "$name")_PID=$(pid_of "$name")"
        done
    } >"$state/env.new"
    chmod 600 "$state/env.new"
    mv "$state/env.new" "$state/env"
}

# The walk-through with this copy's addresses and command in it. Needs `binaries`. The command is left out where it was
# not built: `make up` does not build it, and the images do not have it.
walkthrough() {
    local command absent=
    printf -v command '%q' "$binaries/gatehouse"
    [ -x "$binaries/gatehouse" ] || absent='/^# The same with the command/,/^$/d'
    sed -e "$absent" -e "s|\$MAIL_FOLDER|$state/mail|g" -e "s|\$GATEWAY_URL|$(url gateway)|g" -e "s|\$APPLE_SIMULATOR_URL|$(url apple-simulator)|g" \
        -e "s|\$GATEHOUSE|${command//\\/\\\\}|g" "$scripts/walkthrough.txt"
}
