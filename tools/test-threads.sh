#!/usr/bin/env bash
# test-threads.sh [ARGUMENT OF swift test…]   the suites in which threads meet, under the thread sanitizer: the drivers of
# PostgreSQL and Redis with their pools, what tokens shares between requests, its feed and the gateway. A race that it
# sees is reported where it happens, and fails the run at its end. Left out is what measures memory or CPU, of which the
# sanitizer takes several times as much, and what no second thread takes part in.
set -euo pipefail

if [ $# = 0 ]; then
    set -- --filter '^(PostgresTests|RedisTests|GatewayTests)\.|^SharedTests\.(TokenBucket|SystemThread|LowerPriority)Tests' \
        --filter '^TokensTests\.(RevocationFeedStore|Refresher|RefreshRace|RaceLock|SingleFlight|SweepStore|SigningKeyFile)Tests' \
        --skip '^GatewayTests\.(Overload|Transfer|Memory|Crumb|ReloadProcess|Differential|Corpus|CanonicalPath|BodyReader)Tests' \
        --skip '^GatewayTests\.(FieldName|RequestHead|HTTP2RequestHead|ResponseHead)Tests'
fi
exec "$(dirname "$0")/test.sh" --threads "$@"
