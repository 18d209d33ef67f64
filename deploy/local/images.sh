#!/usr/bin/env bash
# images.sh   builds every image of deploy/Dockerfile without Docker, by buildah, over base images that are made here;
# then starts the whole system from them, each service in its image's own root, read-only, as the image's user, and runs
# the walk-through against it; then builds again what a change in one service changes. Needs root on Linux.
GATEHOUSE_LOCAL=$(cd "$(dirname "$0")/../.." && pwd)/.local/images
export GATEHOUSE_LOCAL
for part in common packages processes keys postgres base-images images; do
    # shellcheck source=/dev/null
    . "$(dirname "$0")/parts/$part.sh"
done

programs="gateway identity tokens devices apple-simulator"
# The most that an image of ours may have, as a registry keeps it.
most_megabytes=120

if [ "$(uname)" != Linux ] || [ "$(id -u)" != 0 ]; then fail "images are built by root on Linux: sudo make images"; fi
ensure_packages
ensure_tools buildah debootstrap rsync
lock_state
mkdir -p "$state/bin"

cleanup() {
    GATEHOUSE_LOCAL=$state/system "$local_scripts/down.sh" >/dev/null 2>&1 || true
    images rm --all >/dev/null 2>&1 || true
    rm -rf "${state:?}"/{registry,system,bin}
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

label() { described "$1" ".OCIv1.config.Labels[\"org.opencontainers.image.$2\"]"; }

check_labels() {
    [ "$(label "$1" title) $(label "$1" licenses)" = "Gatehouse Apache-2.0" ] ||
        fail "the image of $1 does not name Gatehouse and its licence"
    [ "$(label "$1" version) $(label "$1" revision)" = "$version $revision" ] ||
        fail "the image of $1 does not name its version and commit"
}

check() {
    local program=$1 packed unpacked
    packed=$(packed_megabytes "$program")
    unpacked=$(unpacked_megabytes "$2")
    say "$program: $packed MB in a registry, $unpacked MB unpacked," \
        "of which the program has $(unpacked_megabytes "$2/usr/local/bin/$program") MB"
    [ "$packed" -le "$most_megabytes" ] || fail "the image of $program has more than $most_megabytes MB"
    [ "$(described "$program" .OCIv1.config.User)" = 10001:10001 ] || fail "$program does not run as 10001"
    check_labels "$program"
    [ "$("$state/bin/$program" --version)" = "$version ($revision)" ] || fail "$program --version tells something else"
}

# The keys of the system that is tried, for the image's user to read.
make_keys() {
    ensure_keys
    chown -R 10001:10001 "$keys"
    export TOKENS_SIGNING_KEY_FILE=/keys/access-token-private.pem TOKENS_REFRESH_KEYS_FILE=/keys/refresh.keys
    export IDENTITY_APPLE_PRIVATE_KEY_FILE=/keys/apple-client-secret.p8
    export IDENTITY_SEALING_KEYS_FILE=/keys/sealing.keys IDENTITY_PEPPER_KEYS_FILE=/keys/pepper.keys
}

# health PROGRAM ADDRESS: the image's health check, with the address of the admin port as compose gives it.
health() {
    local words
    mapfile -t words < <(described "$1" '.Docker.config.Healthcheck.Test[]')
    [ "${words[0]} ${words[1]}" = "CMD $1" ] || fail "the health check of $1 is not the program itself: ${words[*]}"
    env "$(upper "$1")_ADMIN_LISTEN_ADDRESS=$2" "$state/bin/$1" "${words[@]:2}"
}

# What SwiftPM compiled for the image of devices: `[3/9] Compiling DevicesService Application.swift`.
compiled() { sed -n 's/^\[[0-9/]*\] Compiling //p' "$logs/image-devices.log"; }

images rm --all >/dev/null 2>&1 || true
forget_images
copy_context
make_debian_base
make_swift_base
for program in $programs keys; do
    note "Building the image of $program"
    began=$SECONDS
    build "$program"
    say "$program: built in $((SECONDS - began)) s"
done
check_labels keys

export GATEHOUSE_LOCAL=$state/system GATEHOUSE_BINARIES=$state/bin
keys=$GATEHOUSE_LOCAL/keys
mkdir -p "$GATEHOUSE_LOCAL"
make_keys
for program in $programs; do
    folder=$(unpack "$program")
    wrap "$program" "$folder"
    check "$program" "$folder"
done

note "Starting the system from its images"
GATEHOUSE_PORT_BASE=$(free_port_base)
export GATEHOUSE_PORT_BASE
"$local_scripts/up.sh"
"$local_scripts/walkthrough.sh" >"$logs/images-walkthrough.log" 2>&1 || {
    tail -n 25 "$logs/images-walkthrough.log" >&2
    fail "the walk-through fails"
}
# shellcheck source=/dev/null
. "$GATEHOUSE_LOCAL/env"
for program in $programs; do
    address=$(upper "$program")_ADMIN_URL
    health "$program" "${!address#http://}" || fail "$program says that it is not ready"
    if health "$program" 127.0.0.1:1 2>/dev/null; then fail "$program says that it is ready where nothing listens"; fi
done
"$local_scripts/down.sh"

note "Building again after a change of one line in devices"
# In the copy: the tree stays as it is.
abstract='Which push address belongs to which user.'
main=$context/Services/devices/Main/Main.swift
grep -qF "$abstract" "$main" || fail "there is nothing to change in $main"
sed -i "s/$abstract/Tried $RANDOM times./" "$main"
printf '\n// Changed.\n' >>"$context/Services/devices/Sources/Application.swift"
began=$SECONDS
build devices
took=$((SECONDS - began))
grep -q '^DevicesService ' <(compiled) || fail "devices was not compiled: see $logs/image-devices.log"
# SwiftPM compiles the plugins of swift-argument-parser each time; that takes it a second.
others=$(compiled | grep -Ev '^(plugin|DevicesService|devices) ' | xargs || true)
[ -z "$others" ] || fail "more than devices was compiled: $others"
images rm try-devices >/dev/null
wrap devices "$(unpack devices)"
grep -q Tried <("$state/bin/devices" --help) || fail "the image has the program of before"
note "All images start, migrate and answer; devices was built again in $took s"
