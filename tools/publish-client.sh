#!/usr/bin/env bash
# publish-client.sh REPOSITORY   writes Client, with the contracts that an app needs, as the next version of a git
# repository of its own (gatehouse-swift): SwiftPM takes a package by URL only from the root of a repository. Pushes the
# branch main and the version's tag. Refuses a version that the repository has.
. "$(dirname "$0")/parts/common.sh"

[ $# = 1 ] || fail "usage: tools/publish-client.sh REPOSITORY"
number=$(version)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
published=$scratch/gatehouse-swift
git clone -q "$1" "$published" || fail "git cannot clone $1"
[ -z "$(git -C "$published" tag --list "$number")" ] || fail "$1 has version $number"
git -C "$published" checkout -q -B main
git -C "$published" rm -rq --ignore-unmatch .
# -L: the contracts are a link here.
cp -RL "$root/Client/"{Package.swift,GatehouseClient,GatehouseContracts,GatehouseUI,Tests} "$root/LICENSE" "$published/"
git -C "$published" add --all
git -C "$published" commit -q -m "Gatehouse $number"
git -C "$published" tag "$number"
git -C "$published" push -q origin main "$number"
say "$1 has version $number"
