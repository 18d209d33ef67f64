# shellcheck shell=bash
# Makes the two images that deploy/Dockerfile begins from, and the two servers of docker-compose.yml, from Debian's
# packages and the Swift that is installed here, under their official names: both can be tried without a registry.

# images COMMAND…: buildah with a storage of this copy's own, and with its cache, in which the build's folder is kept.
# Whoever sources this has .local/images for its state. Needs root.
images() {
    mkdir -p "$state/tmp"
    TMPDIR=$state/tmp buildah --root "$state/storage" --runroot "$state/storage-run" --storage-driver overlay "$@"
}

# Podman with the same storage, and with networks apart from those of this machine's own. crun fails where cgroups are in
# hybrid mode, and runc where a limit is above that of a machine which is a container itself; without systemd Podman
# cannot use its timers for health checks.
configure_podman() {
    mkdir -p "$state/podman"
    cat >"$state/podman/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:20000", "nproc=1000:1000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_config_dir = "$state/podman/networks"
END
    cat >"$state/podman/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$state/storage"
runroot = "$state/storage-run"
END
    export CONTAINERS_CONF=$state/podman/containers.conf CONTAINERS_STORAGE_CONF=$state/podman/storage.conf
    export DISABLE_HC_SYSTEMD=true
}

has_image() { images inspect --type image "$1" >/dev/null 2>&1; }

# commit_folder FOLDER NAME: an image of one layer.
commit_folder() {
    local container
    container=$(images from scratch)
    images add --quiet "$container" "$1" / >/dev/null
    images config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --cmd bash "$container"
    images commit --quiet --rm "$container" "$2" >/dev/null
}

# Debian's least installation without documents and translations, as debian:bookworm-slim has it.
make_debian_base() {
    local name=docker.io/library/debian:bookworm-slim folder=$state/debian
    if has_image $name; then return; fi
    note "Making $name"
    rm -rf "$folder"
    debootstrap --variant=minbase bookworm "$folder" http://deb.debian.org/debian >"$logs/debootstrap.log" ||
        fail "debootstrap failed: see $logs/debootstrap.log"
    printf 'path-exclude /usr/share/%s/*\n' doc info locale man >"$folder/etc/dpkg/dpkg.cfg.d/slim"
    rm -rf "$folder"/usr/share/{doc,info,locale,man}/* "$folder"/var/{cache/apt/*.bin,lib/apt/lists/*} \
        "$folder"/var/{cache/apt/archives/*.deb,log/*.log}
    commit_folder "$folder" $name
    rm -rf "$folder"
}

# This machine's Swift over Debian, with the packages that the official image has for it.
make_swift_base() {
    local name=docker.io/library/swift:6.3-bookworm container root_of toolchain
    if has_image $name; then return; fi
    note "Making $name"
    toolchain=$(dirname "$(dirname "$(readlink -f "$(type -P swift)")")")
    container=$(images from --pull-never docker.io/library/debian:bookworm-slim)
    images run --isolation chroot "$container" -- sh -c '
        apt-get -q update
        apt-get -q install -y --no-install-recommends binutils ca-certificates git libc6-dev libcurl4-openssl-dev \
            libedit2 libgcc-12-dev libncurses-dev libsqlite3-0 libstdc++-12-dev libxml2-dev libz3-4 pkg-config tzdata \
            zlib1g-dev
        rm -rf /var/lib/apt/lists/*' >"$logs/swift-base.log" 2>&1 || fail "see $logs/swift-base.log"
    root_of=$(images mount "$container")
    # Debuggers and documents apart.
    tar -C "$toolchain" --exclude='./bin/lldb*' --exclude='./lib/liblldb*' --exclude='./share/doc' -cf - . |
        tar -C "$root_of/usr" -xf -
    # Where git takes packages from here, it does there.
    git config --get-regexp '^url\.' | while read -r key value; do
        git config --file "$root_of/etc/gitconfig" --add "$key" "$value"
    done
    images umount "$container" >/dev/null
    images commit --quiet --rm "$container" $name >/dev/null
}

# Folders of this machine from which git takes packages, as options of a build.
package_folders() {
    local folder
    git config --get-regexp '^url\./.*\.insteadof$' | sed -E 's/^url\.([^ ]*)\.insteadof .*/\1/' | sort -u |
        while read -r folder; do printf -- '--volume\n%s:%s:ro\n' "$folder" "$folder"; done
}

# make_server_bases: the two servers of docker-compose.yml, which start as the official images do.
make_server_bases() {
    local name
    for name in postgres:15-bookworm redis:7-bookworm; do
        if has_image "docker.io/library/$name"; then continue; fi
        note "Making docker.io/library/$name"
        images bud --format docker --isolation chroot --pull-never --target "${name%%:*}" \
            --tag "docker.io/library/$name" "$scripts/compose" >"$logs/${name%%:*}-base.log" 2>&1 ||
            fail "see $logs/${name%%:*}-base.log"
    done
}
