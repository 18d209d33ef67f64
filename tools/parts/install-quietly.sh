#!/usr/bin/env bash
# install-quietly.sh PACKAGE…   installs Debian's packages as root, and starts no server, now or at the next boot.
set -euo pipefail

policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.d
exec 8>/run/lock/gatehouse-packages
flock 8
new=
for service in redis-server pgbouncer haproxy prometheus; do
    [ -e "/etc/init.d/$service" ] || new+=" $service"
done

created=
trap 'rm -f "$created" "$clusters/gatehouse.conf"' EXIT
# Debian asks this file before it starts a service. A machine that has one, as containers do, keeps it.
if [ ! -e "$policy" ]; then
    created=$policy
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
# PostgreSQL's package makes a cluster and starts it at the next boot, unless told not to.
mkdir -p "$clusters"
echo 'create_main_cluster = false' >"$clusters/gatehouse.conf"

export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
for service in $new; do
    [ ! -e "/etc/init.d/$service" ] || update-rc.d "$service" disable >/dev/null 2>&1 || true
done
