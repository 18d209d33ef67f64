#!/usr/bin/env bash
# publish-client.sh REPOSITORY   writes Client, with the contracts that an app needs, as the next version of a git
# repository of its own (gatehouse-swift): SwiftPM takes a package by URL only from the root of a repository. Pushes the
# branch main and the version's tag. Refuses a version that the repository has. It needs no other script, because the bash
# of macOS is too old for theirs.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
number=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' "$root/Shared/Settings/GatehouseVersion.swift")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
published=$scratch/gatehouse-swift
git clone -q "${1:?usage: tools/publish-client.sh REPOSITORY}" "$published"
if [ -n "$(git -C "$published" tag --list "$number")" ]; then
    echo "error: $1 has version $number" >&2
    exit 1
fi
git -C "$published" checkout -q -B main
git -C "$published" rm -rq --ignore-unmatch .
# -L: the contracts are a link here.
cp -RL "$root/Client/"{Package.swift,GatehouseClient,GatehouseContracts,GatehouseUI,Tests} "$root/LICENSE" "$published/"
git -C "$published" add --all
# A version may change nothing here, and has its tag nevertheless.
git -C "$published" commit -q --allow-empty -m "Gatehouse $number"
git -C "$published" tag "$number"
git -C "$published" push -q --atomic origin main "$number"
echo "$1 has version $number"
