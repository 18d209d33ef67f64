#!/usr/bin/env bash
# install-packages.sh PACKAGE…   as root: installs Debian packages and starts no system-wide server with them.
set -euo pipefail

policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.d
had_redis=$(command -v redis-server || true)
had_pgbouncer=$(command -v /usr/sbin/pgbouncer || true)
had_haproxy=$(command -v haproxy || true)
had_prometheus=$(command -v prometheus || true)

exec 8>/run/lock/gatehouse-packages
flock 8

restore() {
    rm -f "$policy" "$clusters/gatehouse.conf"
    rmdir "$clusters" 2>/dev/null || true
    [ ! -e "$policy.gatehouse" ] || mv "$policy.gatehouse" "$policy"
}
trap restore EXIT

# Debian asks this file before it starts a service; a file of the machine's own keeps its say about all others.
[ ! -e "$policy" ] || mv "$policy" "$policy.gatehouse"
cat >"$policy" <<POLICY
#!/bin/sh
case "\$1" in redis* | postgresql* | haproxy* | pgbouncer* | prometheus*) exit 101 ;; esac
if [ -x $policy.gatehouse ]; then exec $policy.gatehouse "\$@"; fi
exit 0
POLICY
chmod 755 "$policy"

# PostgreSQL's package makes a cluster and starts it at the next boot, unless told not to.
mkdir -p "$clusters"
echo 'create_main_cluster = false' >"$clusters/gatehouse.conf"

export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"

# The packages of these turn their services on for the next boot.
if [ -z "$had_redis" ] && command -v redis-server >/dev/null; then
    update-rc.d redis-server disable >/dev/null 2>&1 || true
fi
if [ -z "$had_pgbouncer" ] && [ -x /usr/sbin/pgbouncer ]; then
    update-rc.d pgbouncer disable >/dev/null 2>&1 || true
fi
if [ -z "$had_haproxy" ] && command -v haproxy >/dev/null; then
    update-rc.d haproxy disable >/dev/null 2>&1 || true
fi
if [ -z "$had_prometheus" ] && command -v prometheus >/dev/null; then
    update-rc.d prometheus disable >/dev/null 2>&1 || true
fi
