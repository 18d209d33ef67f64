#!/usr/bin/env bash
# Run by the PostgreSQL image when its volume is new. Connections: a replica's, its successor's, 4 for migrate and psql.
set -euo pipefail
for name in identity tokens devices; do
    SERVICE_PASSWORD=$(cat "/etc/gatehouse/passwords/$name") psql -q -X -U "$POSTGRES_USER" -d postgres \
        -v ON_ERROR_STOP=1 -v name="$name" -v connections=36 -f /etc/gatehouse/service-database/service-database.sql
done
