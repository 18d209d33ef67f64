#!/usr/bin/env bash
# publish.sh client|service REPOSITORY [CLIENT]   writes a package as the next version of a git repository of its own:
# SwiftPM takes a package by URL only from the root of a repository, and such a package may depend on none by path.
#   client    the folder Client, with the contracts that an app needs. REPOSITORY ends in gatehouse-swift.
#   service   GatehouseService, from the folder Shared. REPOSITORY ends in gatehouse-service. It depends on the same version
#             of CLIENT, the client's repository: by default gatehouse-swift beside REPOSITORY.
# Publishes the commit HEAD: pushes the branch main and the version's tag. Refuses a version that the repository has. It
# needs no other script, because the bash of macOS is too old for theirs.
set -euo pipefail

fail() {
    echo "error: $*" >&2
    exit 1
}

root=$(cd "$(dirname "$0")/.." && pwd)
case "${1:-} $(basename "${2:-}" .git)" in
"client gatehouse-swift" | "service gatehouse-service") ;;
*) fail "usage: tools/publish.sh client …/gatehouse-swift, or tools/publish.sh service …/gatehouse-service [CLIENT]" ;;
esac
repository=$2
client=${3:-${2%gatehouse-service*}gatehouse-swift${2##*gatehouse-service}}
[ -z "$(git -C "$root" status --porcelain)" ] || fail "commit first: only what is committed is published"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sources=$scratch/sources
published=$scratch/published
mkdir "$sources"
git -C "$root" archive HEAD Client Shared Package.swift LICENSE | tar -x -C "$sources"
number=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' "$sources/Shared/GatehouseSettings/GatehouseVersion.swift")

write_client() {
    # -L: the contracts are a link here.
    cp -RL "$sources/Client/"{Package.swift,GatehouseClient,GatehouseContracts,GatehouseUI,Tests} "$published/"
}

write_service() {
    local path
    [ -n "$(git ls-remote --tags "$client" "$number")" ] || fail "publish the client first: $client has no version $number"
    # The folders of the package's targets. The other folders are the servers'.
    swift package --package-path "$sources/Shared" dump-package | jq -r '.targets[].path' |
        while read -r path; do
            mkdir -p "$published/$(dirname "$path")"
            cp -R "$sources/Shared/$path" "$published/$path"
        done
    sed -e "s|\.package(name: \"gatehouse-swift\"[^)]*)|.package(url: \"$client\", exact: \"$number\")|" \
        -e 's|^let isService = .*|let isService = true|' "$sources/Package.swift" >"$published/Package.swift"
}

git clone -q "$repository" "$published"
[ -z "$(git -C "$published" tag --list "$number")" ] || fail "$repository has version $number"
git -C "$published" checkout -q -B main
git -C "$published" rm -rq --ignore-unmatch .
"write_$1"
cp "$sources/LICENSE" "$published/"
git -C "$published" add --all
# A version may change nothing here, and has its tag nevertheless.
git -C "$published" commit -q --allow-empty -m "Gatehouse $number"
git -C "$published" tag "$number"
git -C "$published" push -q --atomic origin main "$number"
echo "$repository has version $number"
