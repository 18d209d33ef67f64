# What `perf script` prints, by what the stacks are in: the first of these that any frame of a stack belongs to.

BEGIN {
    count = 0
    if (service == "gateway") {
        part("sockets: reading, writing", "sys_(read|write|send|recv)")
        part("waiting for sockets", "epoll_wait")
        part("metrics, logging", "GatewayMetrics|Prometheus|JSONLog|LogWriter")
        part("heads, routes, limits, bodies", "14GatewayService")
        part("event loops, NIO's channels", "NIOPosix|NIOCore")
    }
    part("RS256 signature", "libcrypto\\.so")
    part("claims, base64url", "11AccessToken|0aB6Signer")
    part("logging", "JSONLog|LogWriter|6LoggerV13Observability")
    part("metrics", "RequestMetrics|Prometheus")
    part("Redis: client, race lock", "5Redis|hiredis|RaceLock")
    part("PostgreSQL: driver, statement", "8Postgres|libpq|SessionStore")
    part("refresh token: HMAC, SHA-256, HKDF, AES-GCM", "RefreshKeyRing|10RefreshKeyV|6Crypto|CCryptoBoringSSL")
    part("JSON and fields of the body", "StrictJSON|JSONValueDecoder|MediaType|E6decode_5limit|IssuedA0V4json")
    part("routing, context of the request", \
         "RoutingResponder|RouterResponder|11Hummingbird|GatehouseRequestContext|RequestPipeline")
    part("HTTP: parsing, writing, Hummingbird's and NIO's pipelines", \
         "readable0|flush|HTTP|NIOAsync|NIOThrowingAsync|15HummingbirdCore")
    part("event loops: waiting, waking, timers", "SelectableEventLoop")
    part("refreshing itself", "RefresherV|12SingleFlight|TokenIssuer|12RefreshTokenV")
    part("tasks: starting, switching, waking threads", "_dispatch_|swift_job_run|swift_task|ConnectionThread")
}

function part(name, pattern) {
    names[++count] = name
    patterns[count] = pattern
}

/^$/ { sample(); next }
/^[ \t]/ { stack = stack "\n" $0 }
END {
    sample()
    printf "%d samples\n", samples
    for (i = 1; i <= count; i++) if (hits[i]) line(names[i], hits[i])
    if (rest) line("rest", rest)
}

function sample(    i) {
    if (stack == "") return
    samples++
    for (i = 1; i <= count; i++) {
        if (stack ~ patterns[i]) {
            hits[i]++
            stack = ""
            return
        }
    }
    rest++
    stack = ""
}

function line(name, number) { printf "%5.1f %%  %s\n", 100 * number / samples, name }
