# shellcheck shell=bash
# Hosts as network namespaces on one bridge, each with the firewall that the NetworkPolicies give it. Sourced, never
# run. Nothing of it touches the machine's own network.

hosts=$state/hosts
namespace() { printf 'gatehouse-%s' "$1"; }
host_address() { cat "$hosts/$1/address"; }
in_host() { ip netns exec "$(namespace "$1")" "${@:2}"; }

# make_network: the hosts of the plan, all on one link, so that only firewalls decide who reaches whom.
make_network() {
    local name
    ip netns add "$(namespace switch)"
    ip -n "$(namespace switch)" link add bridge type bridge
    ip -n "$(namespace switch)" link set bridge up
    for name in "${host_names[@]}"; do
        ip netns add "$(namespace "$name")"
        ip link add eth0 netns "$(namespace "$name")" type veth peer name "port$RANDOM" netns "$(namespace switch)"
        ip -n "$(namespace "$name")" address add "$(host_address "$name")/32" dev eth0
        ip -n "$(namespace "$name")" link set lo up
        ip -n "$(namespace "$name")" link set eth0 up
        ip -n "$(namespace "$name")" route add default dev eth0
        if [ -f "$hosts/$name/rules.nft" ]; then in_host "$name" nft -f "$hosts/$name/rules.nft"; fi
    done
    local port
    for port in $(ip -n "$(namespace switch)" -br link show type veth | sed 's/@.*//'); do
        ip -n "$(namespace switch)" link set "$port" master bridge up
    done
}

# Of a run that was killed, too.
remove_network() {
    local name
    for name in $(ip netns list | sed -n 's/^\(gatehouse-[a-z-]*\).*/\1/p'); do ip netns delete "$name"; done
}

# container NAME: sets `container` to the words that run what the manifests say of a pod: as their user, without
# capabilities, with the root read-only, with their files under /etc/gatehouse and their environment alone.
container() {
    local name=$1 line
    local settings=() arguments=()
    while read -r line; do settings+=("$line"); done <"$hosts/$name/environment"
    while read -r line; do arguments+=("$line"); done <"$hosts/$name/command"
    # `ip netns exec` has given the command mounts of its own. Programs are shown under /srv, since the services' user
    # may not enter a clone that only its owner may.
    # shellcheck disable=SC2016 # expanded in there
    container=(ip netns exec "$(namespace "$name")" bash -euc '
        mount -t overlay overlay -o "lowerdir=$0:/etc" /etc
        mount --bind "$1" /srv
        mount -o remount,ro,bind /
        shift
        exec setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
        ' "$hosts/$name/etc" "$binaries" env -i "${settings[@]}" ${more_settings[@]+"${more_settings[@]}"}
        "/srv/$(cat "$hosts/$name/program")" "${arguments[@]}")
}

# cut A B, heal A B: packets between two hosts are dropped, as when a cable is pulled; connections stay.
cut() {
    in_host "$1" nft -f - <<END
table inet cut-$2 {
  chain input { type filter hook input priority -10; ip saddr $(host_address "$2") drop; }
  chain output { type filter hook output priority -10; ip daddr $(host_address "$2") drop; }
}
END
}

heal() { in_host "$1" nft delete table inet "cut-$2"; }

# slow MILLISECONDS A B: until `quick`.
slow() {
    rm -f "$state/slow"
    python3 "$local_scripts/network/delay.py" "$1" "$(namespace "$2")" "$(host_address "$2")" \
        "$(namespace "$3")" "$(host_address "$3")" >"$state/slow" &
    slow_pid=$!
    wait_until 5 grep -qs slow "$state/slow" || fail "the link between $2 and $3 could not be slowed"
}

quick() {
    kill "$slow_pid"
    wait "$slow_pid" 2>/dev/null || true
}
