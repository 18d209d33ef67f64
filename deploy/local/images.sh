#!/usr/bin/env bash
# images.sh   builds every image of deploy/Dockerfile without Docker, by buildah, over base images that are made here; then
# starts the whole system from them, each service in its image's own root, read-only, as the image's user, and runs the
# walk-through against it; then builds again what a change in one service changes. Needs root on Linux.
# shellcheck source=parts/packages.sh
. "$(dirname "$0")/parts/common.sh"
for part in packages processes keys postgres base-images; do
    # shellcheck source=/dev/null
    . "$local_scripts/parts/$part.sh"
done

programs="gateway identity tokens devices apple-simulator"
# Megabytes, the most that an image of ours may have.
most_megabytes=120
version=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' "$root/Shared/Settings/GatehouseVersion.swift")
revision=$(git -C "$root" rev-parse --short HEAD)
work=$state/images
context=$work/context

if [ "$(uname)" != Linux ] || [ "$(id -u)" != 0 ]; then fail "images are built by root on Linux: sudo make images"; fi
ensure_packages
ensure_tools buildah debootstrap rsync
lock_state
mkdir -p "$work"
trap 'stop_system >/dev/null 2>&1 || true; images umount --all >/dev/null 2>&1 || true' EXIT

# What git knows, with the times of the files: SwiftPM builds by them.
copy_context() {
    mkdir -p "$context"
    git -C "$root" ls-files -z | rsync -a --from0 --files-from=- --delete "$root/" "$context/"
}

# build PROGRAM: its image, as docker build --target PROGRAM would make it.
build() {
    local options
    mapfile -t options < <(package_folders)
    images bud --isolation chroot --layers --pull-never "${options[@]}" --build-arg VERSION="$version" \
        --build-arg REVISION="$revision" --target "$1" --tag "gatehouse/$1:$version" --file "$context/deploy/Dockerfile" \
        "$context" >"$logs/image-$1.log" 2>&1 || {
        tail -n 25 "$logs/image-$1.log" >&2
        fail "the image of $1 cannot be built"
    }
}

config() { images inspect --type image --format "{{$2}}" "gatehouse/$1:$version"; }

# unpack PROGRAM: prints the root of a container made of its image.
unpack() {
    local container
    container=$(images from --pull-never --name "try-$1" "gatehouse/$1:$version")
    images mount "$container"
}

# wrap PROGRAM ROOT: writes a program that runs the image's: what `make up` takes for the binary. Each step becomes the
# next one, so that the process id stays the service's own.
wrap() {
    cat >"$work/bin/$1" <<END
#!/usr/bin/env bash
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GATEHOUSE_REVISION=$revision
exec unshare --mount --propagation private bash -euc '
mount --bind "$2" "$2"
mount --bind "$keys" "$2/keys"
mount -o remount,ro,bind "$2/keys"
mount -o remount,ro,bind "$2"
mount -t proc proc "$2/proc"
exec chroot --userspec=10001:10001 "$2" /usr/local/bin/$1 "\$@"' _ "\$@"
END
    chmod 755 "$work/bin/$1"
}

check() {
    local program=$1 megabytes
    megabytes=$(($(images images --json "gatehouse/$program:$version" | jq '[.[].size] | max' -r |
        sed -E 's/ MB//; s/\..*//')))
    say "$program: $megabytes MB, user $(config "$program" .OCIv1.Config.User)"
    [ "$megabytes" -le "$most_megabytes" ] || fail "the image of $program has more than $most_megabytes MB"
    [ "$(config "$program" .OCIv1.Config.User)" = 10001:10001 ] || fail "$program does not run as 10001"
    [ "$(config "$program" '(index .OCIv1.Config.Labels "org.opencontainers.image.revision")')" = "$revision" ] ||
        fail "the image of $program does not name its commit"
    [ "$("$work/bin/$program" --version)" = "$version ($revision)" ] || fail "$program --version tells something else"
}

# The keys of the system that is tried, for the image's user to read.
make_keys() {
    mkdir -p "$keys"
    ensure_keys
    chmod 755 "$keys"
    chown 10001:10001 "$keys"/*
    export TOKENS_SIGNING_KEY_FILE=/keys/access-token-private.pem TOKENS_REFRESH_KEYS_FILE=/keys/refresh.keys
    export IDENTITY_APPLE_PRIVATE_KEY_FILE=/keys/apple-client-secret.p8
    export IDENTITY_SEALING_KEYS_FILE=/keys/sealing.keys IDENTITY_PEPPER_KEYS_FILE=/keys/pepper.keys
}

start_system() {
    GATEHOUSE_PORT_BASE=$(free_port_base)
    export GATEHOUSE_PORT_BASE
    "$local_scripts/up.sh"
}

stop_system() { GATEHOUSE_LOCAL=$work/system "$local_scripts/down.sh"; }

images rm --all >/dev/null 2>&1 || true
copy_context
make_debian_base
make_swift_base
for program in $programs keys; do
    note "Building the image of $program"
    began=$SECONDS
    build "$program"
    say "$program: built in $((SECONDS - began)) s"
done

export GATEHOUSE_LOCAL=$work/system GATEHOUSE_BINARIES=$work/bin
keys=$GATEHOUSE_LOCAL/keys
mkdir -p "$work/bin"
make_keys
for program in $programs; do
    folder=$(unpack "$program")
    mkdir -p "$folder/keys"
    wrap "$program" "$folder"
    check "$program"
done

note "Starting the system from its images"
start_system
"$local_scripts/walkthrough.sh" >"$logs/images-walkthrough.log" 2>&1 || {
    tail -n 25 "$logs/images-walkthrough.log" >&2
    fail "the walk-through fails"
}
# As the image's health check does: with the settings that compose gives, which are the environment of the process.
# shellcheck source=/dev/null
. "$GATEHOUSE_LOCAL/env"
for program in $programs; do
    address=$(upper "$program")_ADMIN_URL
    env "$(upper "$program")_ADMIN_LISTEN_ADDRESS=${!address#http://}" "$work/bin/$program" health ||
        fail "$program says that it is not ready"
done
stop_system
for program in $programs; do
    if env "$(upper "$program")_ADMIN_LISTEN_ADDRESS=127.0.0.1:1" "$work/bin/$program" health 2>/dev/null; then
        fail "$program says that it is ready, and does not run"
    fi
done

note "Building again after a change in devices"
# In the copy: the tree stays as it is.
printf '\n// %s\n' "$RANDOM" >>"$context/Services/devices/Main/Main.swift"
began=$SECONDS
build devices
note "All images start, migrate and answer; devices was built again in $((SECONDS - began)) s"
