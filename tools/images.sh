#!/usr/bin/env bash
# images.sh   builds every image of deploy/Dockerfile by buildah, and checks its labels, user and version. Needs root.
. "$(dirname "$0")/parts/base-images.sh"

revision=$(git -C "$root" rev-parse --short HEAD)
ensure_tools buildah jq mmdebstrap
lock_state

# buildah 1.28 takes a step from its cache whatever the build arguments are: an earlier build's labels would stay.
forget_images() {
    local name
    buildah rm --all >/dev/null 2>&1 || true
    for name in $(buildah images --json | jq -r '.[].names[]? | select(contains("/gatehouse/"))') \
        $(buildah images --quiet --filter dangling=true --filter label=org.opencontainers.image.title=Gatehouse); do
        buildah rmi "$name" >/dev/null
    done
}

# Where git takes packages from a folder of this machine, it does in a build. Sets `package_folders`, options of the build.
find_package_folders() {
    local key value folder
    package_folders=()
    rm -f "$state/gitconfig"
    while read -r key value; do
        git config --file "$state/gitconfig" --add "$key" "$value"
        folder=${key#url.}
        folder=${folder%.insteadof}
        [[ " ${package_folders[*]} " == *" $folder:$folder:ro "* ]] || package_folders+=(--volume "$folder:$folder:ro")
    done < <(git config --get-regexp '^url\./.*\.insteadof$')
    [ ! -f "$state/gitconfig" ] || package_folders+=(--volume "$state/gitconfig:/etc/gitconfig:ro")
}

# check NAME USER
check() {
    local said container
    said=$(buildah inspect --type image "gatehouse/$1:$version" | jq -r '.OCIv1.config | .Labels as $labels
        | [$labels["org.opencontainers.image" + (".title", ".licenses", ".version", ".revision")], .User // "root"] | join(" ")')
    [ "$said" = "Gatehouse Apache-2.0 $version $revision $2" ] || fail "the image of $1 says of itself: $said"
    [ "$1" != keys ] || return 0
    container=$(buildah from --pull-never "gatehouse/$1:$version")
    said=$(buildah run --isolation chroot "$container" -- "$1" --version)
    buildah rm "$container" >/dev/null
    [ "$said" = "$version ($revision)" ] || fail "$1 --version says $said"
}

forget_images
make_bases swift:6.3-bookworm
find_package_folders
for name in gateway identity tokens devices apple-simulator keys; do
    build_image "gatehouse/$name:$version" --layers "${package_folders[@]}" --build-arg VERSION="$version" \
        --build-arg REVISION="$revision" --target "$name" --file "$root/deploy/Dockerfile" "$root"
    if [ "$name" = keys ]; then check keys root; else check "$name" 10001:10001; fi
done
