/// Makes spans of what the drivers for PostgreSQL and Redis do. They call it and know nothing of traces.
public struct DatabaseSpans: Sendable {
    /// Called when it is over, with the error's code if there was one.
    public typealias End = @Sendable (_ error: String?) -> Void

    private let common: [SpanAttribute]

    /// - Parameters:
    ///   - system: `postgresql`, `redis`.
    ///   - server: `nil` where there are several.
    public init(system: String, server: String?, port: Int? = nil) {
        common =
            [.databaseSystem(system)] + (server.map { [.server($0)] } ?? []) + (port.map { [.serverPort($0)] } ?? [])
    }

    /// A statement of SQL begins.
    ///
    /// - Parameter sql: with `$1` where a value stands.
    /// - Returns: `nil` where nobody wants to know.
    public func statement(_ sql: String) -> End? {
        guard let span = SpanRecording.client(SQLSummary(sql).text) else { return nil }
        return { [common] error in
            span.end(common + [.operation(SQLSummary(sql).operation), .statement(sql)], error: error)
        }
    }

    /// Somebody begins to wait for a connection.
    ///
    /// - Returns: `nil` where nobody wants to know.
    public func wait() -> End? {
        guard let span = SpanRecording.begin("wait for a connection", .internal) else { return nil }
        return { [common] error in span.end(common, error: error) }
    }

    /// What a client of Redis calls for each command.
    ///
    /// - Parameter tracing: `nil` where no traces are recorded: then nothing is called.
    public static func redisCommands(
        at host: String, _ port: Int, _ tracing: Tracing?
    ) -> (@Sendable (_ name: String) -> End?)? {
        tracing.map { _ in DatabaseSpans(system: "redis", server: host, port: port).command }
    }

    /// A command of Redis begins.
    ///
    /// - Parameter name: its first word.
    /// - Returns: `nil` where nobody wants to know.
    public func command(_ name: String) -> End? {
        guard let span = SpanRecording.client(name) else { return nil }
        return { [common] error in span.end(common + [.operation(name)], error: error) }
    }
}

/// What a statement does, in two words: `UPDATE sessions`.
struct SQLSummary: Equatable {
    /// The statement's first word.
    let operation: String
    /// The first table that it names; `nil` where none is found.
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
