import Tracing

/// Creates spans for the drivers of PostgreSQL and Redis. The drivers call it and do not depend on tracing.
public struct DatabaseSpans: Sendable {
    /// Called at the end of the operation, with the error's code if it failed.
    public typealias End = @Sendable (_ error: String?) -> Void

    private let tracer: GatehouseTracer
    private let common: [FinishedSpan.Attribute]

    /// - Parameters:
    ///   - system: `postgresql`, `redis`.
    ///   - server: `nil` if the configuration names several.
    public init(system: String, server: String?, port: Int? = nil, tracer: GatehouseTracer) {
        self.tracer = tracer
        common =
            [.databaseSystem(system)] + (server.map { [.server($0)] } ?? []) + (port.map { [.serverPort($0)] } ?? [])
    }

    /// Begins the span of a SQL statement.
    ///
    /// - Parameter sql: the statement, with `$1` in place of a value.
    /// - Returns: `nil` if no trace is recorded.
    public func statement(_ sql: String) -> End? {
        guard let span = tracer.startChild(SQLSummary(sql).text, .client) else { return nil }
        span.record(.operation(SQLSummary(sql).operation), .statement(sql))
        return end(of: span)
    }

    /// Begins the span of a wait for a connection.
    ///
    /// - Returns: `nil` if no trace is recorded.
    public func wait() -> End? {
        tracer.startChild("wait for a connection", .internal).map(end)
    }

    /// The callback of a Redis client for each command.
    ///
    /// - Parameter tracer: `nil` if no traces are recorded: then no callback is set.
    public static func redisCommands(
        at host: String, _ port: Int, _ tracer: GatehouseTracer?
    ) -> (@Sendable (_ name: String) -> End?)? {
        tracer.map { DatabaseSpans(system: "redis", server: host, port: port, tracer: $0).command }
    }

    /// Begins the span of a Redis command.
    ///
    /// - Parameter name: the command's first word.
    /// - Returns: `nil` if no trace is recorded.
    public func command(_ name: String) -> End? {
        guard let span = tracer.startChild(name, .client) else { return nil }
        span.record(.operation(name))
        return end(of: span)
    }

    private func end(of span: RecordingSpan) -> End {
        span.record(common)
        return { error in
            if let error { span.fail(error) }
            span.end()
        }
    }
}

/// What a statement does, in two words: `UPDATE sessions`.
struct SQLSummary: Equatable {
    /// The statement's first word.
    let operation: String
    /// The first table that it names; `nil` if none is found.
    let table: String?

    init(_ sql: String) {
        let words = sql.utf8.split { !Self.isPartOfWord($0) }
        operation = words.first.map { String(Substring($0)).uppercased() } ?? "UNKNOWN"
        var isNext = false
        for word in words {
            if isNext {
                table = String(Substring(word))
                return
            }
            isNext = Self.precedesTable.contains(String(Substring(word)).uppercased())
        }
        table = nil
    }

    /// The name of the statement's span.
    var text: String { table.map { "\(operation) \($0)" } ?? operation }

    private static let precedesTable: Set<String> = ["FROM", "INTO", "UPDATE"]

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
