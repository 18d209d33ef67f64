#!/usr/bin/env bash
# test-fuzz.sh   libFuzzer against the request path and the token parser, GATEHOUSE_FUZZ_SECONDS (60) each.
# A finding's input stays under .local/fuzz, and belongs into the corpus beside the fix.
. "$(dirname "$0")/parts/packages.sh"

seconds=${GATEHOUSE_FUZZ_SECONDS:-60}
corpus=$root/Tests/GatewayTests/Fuzz/Corpus
flags=(-c release --sanitize=fuzzer --scratch-path .build-fuzz -Xswiftc -parse-as-library -Xswiftc -enable-testing)
export GATEHOUSE_FUZZ=1

ensure_packages
cd "$root"
note "Building the fuzzer: several minutes the first time"
swift build "${flags[@]}" --product fuzz || fail "the build failed"
fuzzer=$(swift build "${flags[@]}" --show-bin-path)/fuzz

failed=0
for target in request-path token; do
    note "$target, $seconds s"
    mkdir -p "$state/fuzz/$target/learned" "$state/fuzz/$target/findings"
    # Swift's own report of a crash would get in libFuzzer's way.
    GATEHOUSE_FUZZ_TARGET=$target SWIFT_BACKTRACE=enable=no "$fuzzer" -max_total_time="$seconds" -max_len=4096 \
        -timeout=10 -artifact_prefix="$state/fuzz/$target/findings/" -print_final_stats=1 \
        "$state/fuzz/$target/learned" "$corpus/$target" || failed=1
done
[ "$failed" = 0 ] || fail "there are findings under $state/fuzz"
