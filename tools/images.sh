#!/usr/bin/env bash
# images.sh   builds every image of deploy/Dockerfile without Docker, by buildah, over base images that are made here, and
# checks what each says of itself: labels, user, version, size. `make test-compose` runs them. Needs root on Linux.
GATEHOUSE_LOCAL=$(cd "$(dirname "$0")/.." && pwd)/.local/images
export GATEHOUSE_LOCAL
for part in common packages processes base-images; do
    # shellcheck source=/dev/null
    . "$(dirname "$0")/parts/$part.sh"
done

# The most that an image of ours may have, as a registry keeps it.
most_megabytes=120
version=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' "$root/Shared/Settings/GatehouseVersion.swift")
revision=$(git -C "$root" rev-parse --short HEAD)
context=$state/context

if [ "$(uname)" != Linux ] || [ "$(id -u)" != 0 ]; then fail "images are built by root on Linux: sudo make images"; fi
ensure_tools buildah debootstrap rsync jq
lock_state

# The files that git knows, with their times: SwiftPM builds by them.
copy_context() {
    mkdir -p "$context"
    git -C "$root" ls-files -z | rsync -a --from0 --ignore-missing-args --files-from=- "$root/" "$context/"
    (cd "$context" && comm -z -13 <(git -C "$root" ls-files -z | sort -z) <(find . -type f -printf '%P\0' | sort -z) |
        xargs -0 -r rm)
}

# forget_images: those of earlier builds. buildah 1.28 takes a step from its cache whatever the build arguments are, and
# with it the labels of another commit. What was compiled is kept.
forget_images() {
    local name
    images rm --all >/dev/null 2>&1 || true
    for name in $(images images --json | jq -r '.[].names[]? | select(contains("/gatehouse/"))') \
        $(images images --quiet --filter dangling=true --filter label=org.opencontainers.image.title=Gatehouse); do
        images rmi "$name" >/dev/null
    done
}

# build NAME: its image, as docker build --target NAME would make it. Images of Docker's kind: OCI's have no health check.
build() {
    local options
    mapfile -t options < <(package_folders)
    images bud --format docker --isolation chroot --layers --pull-never "${options[@]}" --build-arg VERSION="$version" \
        --build-arg REVISION="$revision" --target "$1" --tag "gatehouse/$1:$version" --file "$context/deploy/Dockerfile" \
        "$context" >"$logs/image-$1.log" 2>&1 || {
        tail -n 25 "$logs/image-$1.log" >&2
        fail "the image of $1 cannot be built"
    }
}

check() {
    local container told megabytes
    told=$(images inspect --type image "gatehouse/$1:$version" | jq -r '.OCIv1.config | .Labels as $labels
        | [$labels["org.opencontainers.image" + (".title", ".licenses", ".version", ".revision")], .User // "root"] | join(" ")')
    [ "$told" = "Gatehouse Apache-2.0 $version $revision $2" ] || fail "the image of $1 says of itself: $told"
    rm -rf "$state/pushed"
    images push --quiet "gatehouse/$1:$version" "oci:$state/pushed:image"
    megabytes=$(du -s --block-size=MB "$state/pushed" | cut -f 1)
    rm -rf "$state/pushed"
    say "$1: $megabytes in a registry"
    [ "${megabytes%MB}" -le "$most_megabytes" ] || fail "the image of $1 has more than $most_megabytes MB"
    [ "$1" != keys ] || return 0
    container=$(images from --pull-never "gatehouse/$1:$version")
    told=$(images run --isolation chroot "$container" -- "$1" --version)
    images rm "$container" >/dev/null
    [ "$told" = "$version ($revision)" ] || fail "$1 --version tells $told"
}

forget_images
copy_context
make_debian_base
make_swift_base
for name in gateway identity tokens devices apple-simulator; do
    note "Building the image of $name"
    build "$name"
    check "$name" 10001:10001
done
build keys
check keys root
