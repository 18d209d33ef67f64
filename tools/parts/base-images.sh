# Makes the base images of deploy/Dockerfile and docker-compose.yml from Debian's packages and the installed Swift,
# under their official names, so that no registry is needed. All images lie in .local/images. Needs root.

GATEHOUSE_LOCAL=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.local/images
export GATEHOUSE_LOCAL
for part in packages processes; do
    . "$(dirname "${BASH_SOURCE[0]}")/$part.sh"
done
[ "$(id -u)" = 0 ] || fail "this needs root: sudo make …"
version=$(version)

mkdir -p "$state/tmp" "$logs"
cat >"$state/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$state/storage"
runroot = "$state/storage-run"
END
export CONTAINERS_STORAGE_CONF=$state/storage.conf
# Here buildah keeps the folder in which it compiles from one build to the next.
export TMPDIR=$state/tmp

has_image() { buildah inspect --type image "$1" >/dev/null 2>&1; }

# build_image NAME ARGUMENT…: of Docker's kind, since OCI's have no health check.
build_image() {
    note "Building the image $1"
    buildah bud --format docker --isolation chroot --pull-never --tag "$1" "${@:2}" >"$logs/image.log" 2>&1 || {
        tail -n 25 "$logs/image.log" >&2
        fail "the image $1 cannot be built"
    }
}

# Debian's least installation without documents and translations, as debian:bookworm-slim has it.
make_debian_base() {
    local name=docker.io/library/debian:bookworm-slim container
    if has_image $name; then return; fi
    note "Making $name"
    mmdebstrap --variant=minbase --dpkgopt='path-exclude=/usr/share/'{doc,info,locale,man}'/*' bookworm \
        "$state/debian.tar" http://deb.debian.org/debian 2>"$logs/debian.log" || fail "see $logs/debian.log"
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$state/debian.tar" / >/dev/null
    buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --cmd bash "$container"
    buildah commit --quiet --rm "$container" $name >/dev/null
    rm "$state/debian.tar"
}

# make_bases NAME…: each by the stage of bases/Dockerfile that has its name.
make_bases() {
    local name swift
    make_debian_base
    swift=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")
    for name in "$@"; do
        has_image "docker.io/library/$name" || build_image "docker.io/library/$name" --target "${name%%:*}" \
            --volume "$swift:/toolchain:ro" "$scripts/bases"
    done
}
