#!/usr/bin/env bash
# test.sh [--coverage | --threads] [ARGUMENT OF swift test…]   runs the tests, with their own PostgreSQL and Redis;
# with --coverage counts lines for coverage.sh; with --threads under the thread sanitizer. Each kind has its own build.
GATEHOUSE_LOCAL=${GATEHOUSE_LOCAL:-$(cd "$(dirname "$0")/.." && pwd)/.local}/test
for part in common processes packages postgres redis; do
    . "$(dirname "$0")/parts/$part.sh"
done

flags=(--explicit-target-dependency-import-check error)
counting=()
coverage=
preload=
case ${1:-} in
--coverage)
    shift
    coverage=yes
    flags+=(--scratch-path .build-coverage)
    counting=(--enable-code-coverage)
    ;;
--threads)
    shift
    flags+=(--sanitize=thread --scratch-path .build-threads)
    preload=$root/.build-threads/libswift-mutex.so
    export TSAN_OPTIONS="suppressions=$root/Tests/ThreadSanitizer/suppressions.txt"
    # The suites in which threads meet, without those that measure memory or CPU, which the sanitizer multiplies.
    [ $# != 0 ] || set -- \
        --filter '^(PostgresTests|RedisTests|GatewayTests)\.|^SharedTests\.(TokenBuckets?|SingleFlight|SystemThread|NameResolver|LowerPriority)Tests' \
        --filter '^TokensTests\.(RevocationFeed|Refresher|RefreshRace|RaceLock|SweepStore|SigningKeyFile)Tests' \
        --skip '^GatewayTests\.(Overload|Transfer|Memory|Crumb|ReloadProcess|Differential|Corpus|CanonicalPath|BodyReader)Tests' \
        --skip '^GatewayTests\.(FieldName|RequestHead|HTTP2RequestHead|ResponseHead)Tests'
    ;;
esac

# part NAME COMMAND…: the time that each part took is printed at the end.
times=
part() {
    local name=$1 start=$SECONDS status=0
    shift
    "$@" || status=$?
    times+=$(printf '%6d s  %s' $((SECONDS - start)) "$name")$'\n'
    return "$status"
}

ensure_packages
ensure_plproxy
# One of the examples is written for it.
ensure_tools node=nodejs
# Phone numbers are read as it reads them.
fetch_python_tools phonenumbers phonenumbers==9.0.43
export GATEHOUSE_TEST_PHONENUMBERS=$phonenumbers/bin/python
cd "$root"
note "Building the tests: several minutes the first time"
part build swift build --build-tests "${flags[@]}" "${counting[@]}" || fail "the build failed"
GATEHOUSE_TEST_BINARIES=$(swift build "${flags[@]}" --show-bin-path)
export GATEHOUSE_TEST_BINARIES

failed=0
if [ $# = 0 ]; then
    note "Trying the scripts"
    # What a binary that counts lines would leave in the current folder is of no use: the tests below count.
    LLVM_PROFILE_FILE=/dev/null part scripts tools/checks/test-scripts.sh "$GATEHOUSE_TEST_BINARIES" || failed=1
    part client tools/checks/test-client.sh || failed=1
fi

if [ -n "$preload" ]; then
    clang -O1 -Wall -Wextra -Werror -shared -fPIC -o "$preload" Tests/ThreadSanitizer/SwiftMutex.c ||
        fail "what tells the sanitizer of Swift's mutexes cannot be compiled"
fi

if [ -n "$coverage" ]; then
    # A file of each process. coverage.sh adds them up: SwiftPM fails where a process was killed while it wrote its own.
    profiles=$state/coverage/profiles
    rm -rf "$profiles"
    mkdir -p "$profiles"
    export LLVM_PROFILE_FILE=$profiles/%m.%p.profraw
fi

# On free ports, without the durability that tests have no use for, gone at the end. DROP DATABASE waits for each backend,
# also for one whose client stopped while it authenticated: until `authentication_timeout`.
stop_test_servers() {
    stop redis postgres
    rm -rf "$state/postgres" "$state/postgres.password" "$state/redis"
}
lock_state
# What a run that was killed left behind.
stop_test_servers
trap stop_test_servers EXIT
trap 'exit 130' INT TERM HUP
make_cluster "$state/postgres"
take_ports postgres_port
start_postgres postgres "$state/postgres" "$postgres_port" -c max_connections=400 -c fsync=off -c synchronous_commit=off \
    -c full_page_writes=off -c shared_buffers=64MB -c max_prepared_transactions=10 -c authentication_timeout=20
redis_port=$((postgres_port + 1))
start_redis "$state/redis" "$redis_port"
GATEHOUSE_TEST_POSTGRES_URL=postgres://postgres:$(cat "$state/postgres.password")@127.0.0.1:$postgres_port/postgres
GATEHOUSE_TEST_REDIS_URL=redis://127.0.0.1:$redis_port
export GATEHOUSE_TEST_POSTGRES_URL GATEHOUSE_TEST_REDIS_URL

note "Testing"
# Hundreds of tests at once would wait for one another's queries longer than the services allow.
width=$((2 * $(getconf _NPROCESSORS_ONLN)))
run_tests() {
    LD_PRELOAD=$preload swift test --skip-build --disable-xctest --experimental-maximum-parallelization-width "$width" \
        "${flags[@]}" "$@" 2>&1 | tee "$logs/test.log"
}
tests=0
part tests run_tests "$@" || tests=1
if [ $# = 0 ] && [ "$tests" = 0 ]; then
    note "Testing on partitioned tables"
    GATEHOUSE_TEST_PARTITIONS=4 part partitions run_tests --filter '^(Tokens|Devices)Tests\.' || tests=1
fi
note "Time of each part"
printf '%s' "$times"
if [ "$tests" != 0 ]; then
    note "What failed"
    grep -A 2 "✘ Test .* recorded an issue" "$logs/test.log" || grep -a -B 20 "error:" "$logs/test.log" | tail -60 || :
    fail "tests failed: grep ✘ $logs/test.log"
fi
[ "$failed" = 0 ] || fail "the scripts did not do what they should: see above"

if [ -n "$coverage" ]; then tools/checks/coverage.sh "$GATEHOUSE_TEST_BINARIES" "$profiles"; fi
