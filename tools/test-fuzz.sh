#!/usr/bin/env bash
# test-fuzz.sh   libFuzzer against the request path, the token parser and the services' requests, GATEHOUSE_FUZZ_SECONDS
# (60) each. A finding's input stays under .local/fuzz, and belongs into the corpus beside the fix.
. "$(dirname "$0")/parts/packages.sh"

seconds=${GATEHOUSE_FUZZ_SECONDS:-60}
flags=(-c release --sanitize=fuzzer --scratch-path .build-fuzz -Xswiftc -parse-as-library -Xswiftc -enable-testing)
export GATEHOUSE_FUZZ=1

ensure_packages
cd "$root"
note "Building the fuzzers: several minutes the first time"
for product in fuzz fuzz-requests; do swift build "${flags[@]}" --product "$product" || fail "the build failed"; done
programs=$(swift build "${flags[@]}" --show-bin-path)

failed=0
# run TARGET PROGRAM CORPUS
run() {
    note "$1, $seconds s"
    mkdir -p "$state/fuzz/$1/learned" "$state/fuzz/$1/findings"
    # Swift's own report of a crash would get in libFuzzer's way.
    GATEHOUSE_FUZZ_TARGET=$1 SWIFT_BACKTRACE=enable=no "$programs/$2" -max_total_time="$seconds" -max_len=4096 \
        -timeout=10 -artifact_prefix="$state/fuzz/$1/findings/" -print_final_stats=1 \
        "$state/fuzz/$1/learned" "$3" || failed=1
}
for target in request-path token; do run "$target" fuzz "$root/Tests/GatewayTests/Fuzz/Corpus/$target"; done
run requests fuzz-requests "$root/Tests/FuzzTests/Corpus"
[ "$failed" = 0 ] || fail "there are findings under $state/fuzz"
