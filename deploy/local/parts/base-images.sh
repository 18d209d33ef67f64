# shellcheck shell=bash
# The two images that deploy/Dockerfile begins from, and the two servers of docker-compose.yml, made of Debian's
# packages and of the Swift that is installed here, under their official names: so both can be tried without Docker and
# without a registry.

# images COMMAND…: buildah with a storage of this copy's own, and with its cache, in which the build's folder is kept.
# Whoever sources this has .local/images for its state. Needs root.
images() {
    mkdir -p "$state/tmp"
    TMPDIR=$state/tmp buildah --root "$state/storage" --runroot "$state/storage-run" --storage-driver overlay "$@"
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

# server_base NAME ENTRYPOINT PACKAGE COMMAND…: a server of Debian's under the name of its official image, which begins
# as that one does. Further words for `buildah config` stand in `more`.
server_base() {
    local name=docker.io/library/$1 entrypoint=$2 package=$3 container
    shift 3
    if has_image "$name"; then return; fi
    note "Making $name"
    container=$(images from --pull-never docker.io/library/debian:bookworm-slim)
    # Debian would make a cluster of its own.
    images run --isolation chroot "$container" -- sh -c "
        mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
        apt-get -q update
        DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $package
        rm -rf /var/lib/apt/lists/*" >"$logs/${package%%-*}-base.log" 2>&1 || fail "see $logs/${package%%-*}-base.log"
    images copy --quiet --chmod 755 "$container" "$local_scripts/compose/$entrypoint" \
        /usr/local/bin/docker-entrypoint.sh >/dev/null
    images config --entrypoint '["docker-entrypoint.sh"]' --cmd "$*" "${more[@]}" "$container"
    images commit --quiet --rm "$container" "$name" >/dev/null
}

make_postgres_base() {
    local path=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    local more=(--env PGDATA=/var/lib/postgresql/data --env "PATH=$path" --stop-signal SIGINT)
    server_base postgres:15-bookworm postgres-entrypoint.sh postgresql-15 postgres
}

make_redis_base() {
    local more=(--workingdir /data)
    server_base redis:7-bookworm redis-entrypoint.sh redis-server redis-server
}
