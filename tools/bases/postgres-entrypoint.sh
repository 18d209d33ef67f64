#!/usr/bin/env bash
# Starts PostgreSQL as the official image does: makes a cluster in a new volume, with POSTGRES_PASSWORD for postgres,
# and runs /docker-entrypoint-initdb.d while the server listens on its socket alone.
set -euo pipefail
export POSTGRES_USER=${POSTGRES_USER:-postgres}

if [ "${1:-}" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
    : "${POSTGRES_PASSWORD:?a new database needs it}"
    initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")
    printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
    echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
    pg_ctl -D "$PGDATA" -w -o "-c listen_addresses=''" start
    for file in /docker-entrypoint-initdb.d/*.sh; do "$file"; done
    pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@"
