#!/usr/bin/env bash
# test.sh [--coverage | --threads] [ARGUMENT OF swift test…]   builds once and runs the tests, with a PostgreSQL and a
# Redis of their own; with --coverage in a build that counts lines, after which coverage.sh has its say; with --threads in
# one that watches what threads share. Such builds are kept apart: each would make the others' anew.
# shellcheck source=parts/test-servers.sh
. "$(dirname "$0")/parts/test-servers.sh"

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
    ;;
esac

# Prints how long each part took: the build, each script and the tests.
times=()
timed() {
    local name=$1 start=$SECONDS status=0
    shift
    "$@" || status=$?
    times+=("$(printf '%6d s  %s' $((SECONDS - start)) "$name")")
    return "$status"
}
print_times() {
    note "Time of each part"
    printf '%s\n' "${times[@]}"
}
run_tests() {
    LD_PRELOAD=$preload swift test --skip-build --disable-xctest \
        --experimental-maximum-parallelization-width "$width" "${flags[@]}" "$@" 2>&1 | tee "$logs/test.log"
}

ensure_packages
# One of the examples is written for it.
ensure_tools node=nodejs
cd "$root"
note "Building the tests: several minutes the first time"
timed build swift build --build-tests "${flags[@]}" "${counting[@]}" || fail "the build failed"
GATEHOUSE_TEST_BINARIES=$(swift build "${flags[@]}" --show-bin-path)
export GATEHOUSE_TEST_BINARIES

failed=0
if [ $# = 0 ]; then
    note "Trying the scripts"
    # What a binary that counts lines would leave in the current folder is of no use: the tests below count.
    LLVM_PROFILE_FILE=/dev/null timed test-scripts.sh \
        tools/checks/test-scripts.sh "$GATEHOUSE_TEST_BINARIES" || failed=1
    timed test-client.sh tools/checks/test-client.sh || failed=1
fi

if [ -n "$preload" ]; then
    clang -O1 -Wall -Wextra -Werror -shared -fPIC -o "$preload" Tests/ThreadSanitizer/SwiftMutex.c ||
        fail "what tells the sanitizer of Swift's mutexes cannot be compiled"
fi

if [ -n "$coverage" ]; then
    # Of each process a file. coverage.sh adds them up: SwiftPM, which could, fails where a process was killed while it
    # wrote its own.
    profiles=$state/coverage/profiles
    rm -rf "$profiles"
    mkdir -p "$profiles"
    export LLVM_PROFILE_FILE=$profiles/%m.%p.profraw
fi

start_test_servers
note "Testing"
tests=0
timed tests run_tests "$@" || tests=1
print_times
if [ "$tests" != 0 ]; then
    note "What failed"
    grep -A 2 "✘ Test .* recorded an issue" "$logs/test.log" || grep -a -B 20 "error:" "$logs/test.log" | tail -60 || :
    fail "tests failed: grep ✘ $logs/test.log"
fi
[ "$failed" = 0 ] || fail "the scripts did not do what they should: see above"

if [ -n "$coverage" ]; then tools/checks/coverage.sh "$GATEHOUSE_TEST_BINARIES" "$profiles"; fi
