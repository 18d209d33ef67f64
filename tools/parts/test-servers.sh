# shellcheck shell=bash
# The servers that tests share: on free ports, without the durability that tests have no use for, gone at the end.

GATEHOUSE_LOCAL=${GATEHOUSE_LOCAL:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.local}/test
for part in common processes packages postgres redis; do
    # shellcheck source=/dev/null
    . "$(dirname "${BASH_SOURCE[0]}")/$part.sh"
done

# Hundreds of tests at once would wait for one another's queries longer than the services allow.
width=$((2 * $(getconf _NPROCESSORS_ONLN)))

stop_test_servers() {
    stop TERM redis
    stop INT postgres
    rm -rf "$state/postgres" "$state/postgres.password" "$state/redis"
}

start_test_servers() {
    local postgres_port redis_port
    lock_state
    # What a run that was killed left behind.
    stop_test_servers
    trap stop_test_servers EXIT
    trap 'exit 130' INT TERM HUP
    make_cluster "$state/postgres"
    postgres_port=$(free_port)
    start_postgres "$state/postgres" "$postgres_port" -c max_connections=400 -c fsync=off -c synchronous_commit=off \
        -c full_page_writes=off -c shared_buffers=64MB -c max_prepared_transactions=10
    redis_port=$(free_port)
    start_redis "$state/redis" "$redis_port"
    GATEHOUSE_TEST_POSTGRES_URL=postgres://postgres:$(cat "$state/postgres.password")@127.0.0.1:$postgres_port/postgres
    GATEHOUSE_TEST_REDIS_URL=redis://127.0.0.1:$redis_port
    export GATEHOUSE_TEST_POSTGRES_URL GATEHOUSE_TEST_REDIS_URL
}
