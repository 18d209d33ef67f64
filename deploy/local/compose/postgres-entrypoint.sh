#!/usr/bin/env bash
# What the official image of PostgreSQL does when it starts, as far as docker-compose.yml uses it: makes a cluster in a
# new volume, with POSTGRES_PASSWORD for the superuser, and runs what lies in /docker-entrypoint-initdb.d while the
# server listens on its socket alone.
set -euo pipefail
export POSTGRES_USER=${POSTGRES_USER:-postgres}

if [ "${1:-}" != postgres ]; then exec "$@"; fi
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA"
    chown -R postgres "$PGDATA"
    chmod 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    : "${POSTGRES_PASSWORD:?a new database needs it}"
    initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")
    printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
    pg_ctl -D "$PGDATA" -w -o "-c listen_addresses=''" start
    for file in /docker-entrypoint-initdb.d/*; do
        case $file in
        *.sh) "$file" ;;
        *) echo "ignored: $file" ;;
        esac
    done
    pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@" -c listen_addresses='*'
