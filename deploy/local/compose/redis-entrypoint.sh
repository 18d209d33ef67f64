#!/usr/bin/env bash
# What the official image of Redis does when it starts: the server runs as the user redis, and other hosts may connect.
set -euo pipefail
if [ "${1:-}" != redis-server ]; then exec "$@"; fi
chown -R redis .
exec setpriv --reuid=redis --regid=redis --init-groups "$@" --protected-mode no
