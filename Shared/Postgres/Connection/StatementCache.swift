/// The statements that one connection has prepared.
struct StatementCache {
    /// The same text with other parameter types is another statement.
    private struct Key: Hashable {
        let sql: String
        let types: [PostgresType]
    }

    enum Plan: Equatable {
        case prepared(String)
        case prepare(String)
        /// The cache is full: programs that build statements without end must not fill the server's memory.
        case unprepared
    }

    private var names: [Key: String] = [:]
    private var lastNumber = 0
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    mutating func plan(for query: PostgresQuery) -> Plan {
        if let name = names[Key(sql: query.sql, types: query.parameters.types)] { return .prepared(name) }
        if names.count >= limit { return .unprepared }
        lastNumber += 1
        return .prepare("s\(lastNumber)")
    }

    mutating func add(_ query: PostgresQuery, as name: String) {
        names[Key(sql: query.sql, types: query.parameters.types)] = name
    }

    mutating func removeAll() {
        names = [:]
    }

    mutating func remove(_ query: PostgresQuery) {
        names[Key(sql: query.sql, types: query.parameters.types)] = nil
    }
}
