/// What a span tells besides its name, by OpenTelemetry's semantic conventions.
///
/// These keys are all that there are: none for a token, a password, an address of a person, a path or the parameter of
/// a statement.
public struct SpanAttribute: Sendable, Equatable {
    enum Value: Sendable, Equatable {
        case text(String)
        case integer(Int64)
    }

    let key: String
    let value: Value

    init(_ key: String, _ value: Value) {
        self.key = key
        self.value = value
    }

    /// What leads from an answer's `X-Request-Id`, or from a line of the log, to the trace.
    public static func requestID(_ id: String) -> Self { .init("gatehouse.request_id", .text(id)) }

    /// - Parameter method: as it was sent.
    public static func method(_ method: String) -> Self {
        .init("http.request.method", .text(knownMethods.contains(method) ? method : "_OTHER"))
    }

    /// For the names of spans: a method that nobody knows could hold anything, and is not repeated.
    public static func nameOfMethod(_ method: String) -> String { knownMethods.contains(method) ? method : "HTTP" }

    private static let knownMethods: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
    ]

    /// - Parameter template: a route's path as it was registered, never the path of a request.
    public static func route(_ template: String) -> Self { .init("http.route", .text(template)) }
    /// - Parameter template: a callee's path without anything of this request.
    public static func urlTemplate(_ template: String) -> Self { .init("url.template", .text(template)) }
    public static func status(_ status: Int) -> Self { .init("http.response.status_code", .integer(Int64(status))) }
    /// - Parameter version: of HTTP, `1.1` or `2`.
    public static func protocolVersion(_ version: String) -> Self { .init("network.protocol.version", .text(version)) }
    /// How often a request was sent again.
    public static func resends(_ count: Int) -> Self { .init("http.request.resend_count", .integer(Int64(count))) }
    /// Which of Gatehouse's services asks, or `none`.
    public static func caller(_ name: String) -> Self { .init("gatehouse.caller", .text(name)) }

    /// Who is asked: a service's name.
    public static func peer(_ name: String) -> Self { .init("peer.service", .text(name)) }
    /// Who is asked: a host's name or address.
    public static func server(_ host: String) -> Self { .init("server.address", .text(host)) }
    public static func serverPort(_ port: Int) -> Self { .init("server.port", .integer(Int64(port))) }

    /// - Parameter name: `postgresql`, `redis`.
    public static func databaseSystem(_ name: String) -> Self { .init("db.system.name", .text(name)) }
    /// - Parameter name: `SELECT`, `EVALSHA`.
    public static func operation(_ name: String) -> Self { .init("db.operation.name", .text(name)) }
    /// - Parameter sql: with `$1` where a value stands.
    public static func statement(_ sql: String) -> Self { .init("db.query.text", .text(sql)) }

    /// - Parameter kind: of few different values: a status, an error's code.
    public static func errorType(_ kind: String) -> Self { .init("error.type", .text(kind)) }
}
