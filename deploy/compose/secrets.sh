#!/usr/bin/env bash
# deploy/compose/secrets.sh [production|development] > .env
# Makes the passwords and credentials of one installation, and adds production.env or development.env. Keep it as a key.
set -euo pipefail
environment=${1:-production}

case $environment in
production) mark= ;;
development) mark=dev- ;;
*)
    echo "usage: secrets.sh [production|development] > .env" >&2
    exit 1
    ;;
esac

echo "GATEHOUSE_ENVIRONMENT=$environment"
echo $'\n# One database password for each role'
for name in POSTGRES IDENTITY TOKENS DEVICES; do
    echo "${name}_DATABASE_PASSWORD=$mark$(openssl rand -hex 24)"
done
echo $'\n# One credential for each pair of caller and callee'
for pair in GATEWAY_TOKENS GATEWAY_IDENTITY GATEWAY_DEVICES IDENTITY_TOKENS IDENTITY_DEVICES DEVICES_TOKENS \
    EVENTS_IDENTITY ADMIN_IDENTITY BOUNCES_IDENTITY INTROSPECTION_TOKENS; do
    echo "${pair}_CREDENTIAL=$mark$(openssl rand -hex 24)"
done
echo $'\n# For the user admin of Grafana (profile observability)'
echo "GRAFANA_ADMIN_PASSWORD=$mark$(openssl rand -hex 12)"
echo
cat "$(dirname "$0")/$environment.env"
