#!/usr/bin/env bash
# deploy/compose/secrets.sh [production|development] > .env
# Makes the passwords and credentials of one installation, as compose reads them. Keep the file as you keep a key.
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
echo
echo "# One database password for each role"
for name in POSTGRES IDENTITY TOKENS DEVICES; do
    echo "${name}_DATABASE_PASSWORD=$mark$(openssl rand -hex 24)"
done
echo
echo "# One credential for each pair of caller and callee"
for pair in GATEWAY_TOKENS GATEWAY_IDENTITY GATEWAY_DEVICES IDENTITY_TOKENS IDENTITY_DEVICES DEVICES_TOKENS \
    EVENTS_IDENTITY ADMIN_IDENTITY BOUNCES_IDENTITY INTROSPECTION_TOKENS; do
    echo "${pair}_CREDENTIAL=$mark$(openssl rand -hex 24)"
done
echo
echo "# For the user admin of Grafana (profile observability)"
echo "GRAFANA_ADMIN_PASSWORD=$mark$(openssl rand -hex 12)"
echo
if [ "$environment" = development ]; then
    cat <<END
# The Apple simulator stands in for Apple
COMPOSE_PROFILES=dev
TOKENS_ISSUER=http://gatehouse.localhost
TOKENS_CLIENT_ID=com.example.app
IDENTITY_APPLE_CLIENT_IDS=com.example.app
IDENTITY_APPLE_TEAM_ID=DEVTEAM000
IDENTITY_APPLE_KEY_ID=DEVKEY0000
IDENTITY_APPLE_KEYS_URL=http://apple-simulator:8084/auth/keys
IDENTITY_APPLE_TOKEN_URL=http://apple-simulator:8084/auth/token
IDENTITY_APPLE_REVOKE_URL=http://apple-simulator:8084/auth/revoke
IDENTITY_APPLE_MIGRATION_URL=http://apple-simulator:8084/auth/usermigrationinfo
END
else
    cat <<END
# To fill in: the public address of the gateway (https://auth.example.com), and the app's bundle id
TOKENS_ISSUER=
TOKENS_CLIENT_ID=

# Sign in with Apple. Left empty, users sign in with passwords. The client ids are bundle and service ids; team id and
# key id belong to your key at Apple: docker compose run --rm -T keys apple < AuthKey_ABC123DEFG.p8
IDENTITY_APPLE_CLIENT_IDS=
IDENTITY_APPLE_TEAM_ID=
IDENTITY_APPLE_KEY_ID=
END
fi
