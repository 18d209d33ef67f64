# shellcheck shell=bash
# Building the images of deploy/Dockerfile, and running what is in them as an engine would. Sourced, never run.

version=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' "$root/Shared/Settings/GatehouseVersion.swift")
revision=$(git -C "$root" rev-parse --short HEAD)
context=$state/context

# What git knows, with the times of the files: SwiftPM builds by them.
copy_context() {
    mkdir -p "$context"
    git -C "$root" ls-files -z | rsync -a --from0 --files-from=- "$root/" "$context/"
    # What git knows no more.
    (cd "$context" && comm -z -13 <(git -C "$root" ls-files -z | sort -z) <(find . -type f -printf '%P\0' | sort -z) |
        xargs -0 -r rm)
}

# build PROGRAM: its image, as docker build --target PROGRAM would make it.
build() {
    local options
    mapfile -t options < <(package_folders)
    # Images of Docker's kind: OCI's have no health check.
    images bud --format docker --isolation chroot --layers --pull-never "${options[@]}" --build-arg VERSION="$version" \
        --build-arg REVISION="$revision" --target "$1" --tag "gatehouse/$1:$version" --file "$context/deploy/Dockerfile" \
        "$context" >"$logs/image-$1.log" 2>&1 || {
        tail -n 25 "$logs/image-$1.log" >&2
        fail "the image of $1 cannot be built"
    }
}

# forget_images: those of earlier builds. buildah 1.28 takes a step from its cache whatever the build arguments are, and
# with it the labels of another commit. What was compiled is kept.
forget_images() {
    local name
    for name in $(images images --json | jq -r '.[].names[]? | select(contains("/gatehouse/"))'); do
        images rmi "$name" >/dev/null
    done
    # What a build left that was broken off has no name.
    for name in $(images images --quiet --filter dangling=true --filter label=org.opencontainers.image.title=Gatehouse); do
        images rmi "$name" >/dev/null
    done
}

# described PROGRAM FILTER: of its image, by jq, a line each.
described() { images inspect --type image "gatehouse/$1:$version" | jq -r "$2"; }

# unpack PROGRAM: prints the root of a container made of its image.
unpack() {
    local container
    container=$(images from --pull-never --name "try-$1" "gatehouse/$1:$version")
    images mount "$container"
}

# unpacked_megabytes FOLDER
unpacked_megabytes() { du -sx --apparent-size --block-size=MB "$1" | sed 's/MB.*//'; }

# packed_megabytes PROGRAM: what a registry keeps of its image, and a host fetches: the layers, compressed.
packed_megabytes() {
    local manifest
    images push --quiet "gatehouse/$1:$version" "oci:$state/registry:$1"
    manifest=$(jq -r --arg name "$1" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $name)
        | .digest | sub("sha256:"; "")' "$state/registry/index.json")
    jq '[.layers[].size] | add / 1000000 | ceil' "$state/registry/blobs/sha256/$manifest"
}

# wrap PROGRAM ROOT: writes a program that runs the image's entrypoint: in the image's root, read-only, with the keys at
# /keys, as its user, with its environment. It is what `make up` takes for the binary. Each step becomes the next one, so
# that the process id stays the service's own.
wrap() {
    local environment entrypoint
    mapfile -t environment < <(described "$1" '.OCIv1.config.Env[] | @sh')
    entrypoint=$(described "$1" '.OCIv1.config.Entrypoint | @sh')
    mkdir -p "$2/keys"
    touch "$2/etc/hosts"
    cat >"$state/bin/$1" <<END
#!/usr/bin/env bash
export ${environment[*]}
exec unshare --mount --propagation private bash -euc '
mount --bind "\$0" "\$0"
mount --bind "\$1" "\$0/keys"
mount --bind /etc/hosts "\$0/etc/hosts"
mount -o remount,ro,bind "\$0/keys"
mount -o remount,ro,bind "\$0/etc/hosts"
mount -o remount,ro,bind "\$0"
mount -t proc proc "\$0/proc"
shift
exec chroot --userspec=$(described "$1" .OCIv1.config.User) "\$0" "\$@"' "$2" "$keys" $entrypoint "\$@"
END
    chmod 755 "$state/bin/$1"
}
