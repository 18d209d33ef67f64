#!/usr/bin/env bash
# Run by the PostgreSQL image when its volume is new. Connections: a replica's, its successor's, 4 for migrate and psql.
set -euo pipefail
for name in identity tokens devices; do
    password=$(printf '%s' "$name" | tr '[:lower:]' '[:upper:]')_DATABASE_PASSWORD
    SERVICE_PASSWORD=${!password} psql -q -X -U "$POSTGRES_USER" -d postgres \
        -v ON_ERROR_STOP=1 -v name="$name" -v connections=36 -f /gatehouse/service-database.sql
done
