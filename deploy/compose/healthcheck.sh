#!/usr/bin/env bash
# healthcheck PORT: whether the service behind this admin port is ready.
set -eu
exec 3<>"/dev/tcp/127.0.0.1/$1"
printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
IFS=' ' read -r -t 2 _ status _ <&3
[ "$status" = 200 ]
