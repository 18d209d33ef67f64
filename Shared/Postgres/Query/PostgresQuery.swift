/// One SQL statement with its parameters.
///
/// Written as a string literal, in which each interpolated value becomes a parameter, never text:
/// ```swift
/// let query: PostgresQuery = "SELECT id FROM users WHERE email = \(email) AND created_at < \(date)"
/// ```
/// sends `SELECT id FROM users WHERE email = $1 AND created_at < $2` with two typed values.
public struct PostgresQuery: Sendable {
    /// The statement, with `$1`, `$2` … in place of the parameters.
    public internal(set) var sql: String
    /// The form in which the server sends the rows. Binary is faster and exact; text lets `String` read any type.
    public var resultFormat: PostgresFormat = .binary
    var parameters = PostgresParameters()
    /// A value that could not be encoded; thrown when the query is run.
    var encodingError: PostgresError?

    /// A statement that is made of trusted text alone.
    public init(unsafe sql: String) {
        self.sql = sql
    }

    /// The same statement with its rows sent in `format`.
    public func returning(_ format: PostgresFormat) -> PostgresQuery {
        var query = self
        query.resultFormat = format
        return query
    }
}

extension PostgresQuery: ExpressibleByStringInterpolation {
    /// A statement without parameters.
    public init(stringLiteral value: String) {
        sql = value
    }

    /// A statement from a literal with interpolated parameters.
    public init(stringInterpolation: Interpolation) {
        self = stringInterpolation.query
    }

    /// Collects text and parameters.
    public struct Interpolation: StringInterpolationProtocol, Sendable {
        var query = PostgresQuery(unsafe: "")

        /// Called by the compiler.
        public init(literalCapacity: Int, interpolationCount: Int) {
            query.sql.reserveCapacity(literalCapacity + interpolationCount * 3)
            query.parameters.reserve(interpolationCount)
        }

        /// Called by the compiler for the text between the values.
        public mutating func appendLiteral(_ literal: String) {
            query.sql += literal
        }

        /// Binds a value as the next parameter.
        public mutating func appendInterpolation(_ value: some PostgresEncodable) {
            bind(value)
        }

        /// Binds a value, or NULL, as the next parameter.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            bind(value)
        }

        /// Inserts text into the statement unescaped: for names of tables and columns from the program itself, never
        /// for external input.
        public mutating func appendInterpolation(unescaped text: String) {
            query.sql += text
        }

        private mutating func bind(_ value: some PostgresEncodable) {
            do throws(PostgresError) {
                try query.parameters.append(value)
            } catch {
                query.encodingError = query.encodingError ?? error
            }
            query.sql += "$"
            query.sql += String(query.parameters.count)
        }
    }
}

/// The form of values on the wire: PostgreSQL's binary or text form.
public enum PostgresFormat: Int32, Sendable {
    /// The text that `psql` would show.
    case text = 0
    /// The server's own exact representation.
    case binary = 1
}

/// The encoded parameters of one query: all bytes in one buffer, since a query has many small values.
struct PostgresParameters: Sendable {
    struct Value: Sendable {
        let format: PostgresFormat
        /// Where the value starts in `bytes`; nil is NULL.
        let offset: Int?
        let length: Int
    }

    private(set) var bytes: [UInt8] = []
    private(set) var types: [PostgresType] = []
    private(set) var values: [Value] = []

    var count: Int { values.count }

    mutating func reserve(_ count: Int) {
        types.reserveCapacity(count)
        values.reserveCapacity(count)
        bytes.reserveCapacity(count * 24)
    }

    mutating func append<Encodable: PostgresEncodable>(_ value: Encodable) throws(PostgresError) {
        let offset = bytes.count
        let isPresent = try value.encode(into: &bytes)
        types.append(Encodable.postgresType)
        values.append(
            Value(
                format: Encodable.postgresFormat, offset: isPresent ? offset : nil, length: bytes.count - offset))
        // libpq reads a parameter in text form up to a zero byte, and needs an address for an empty value.
        bytes.append(0)
    }
}

/// Something that runs statements: a pool, a connection or a transaction.
public protocol PostgresQuerying: Sendable {
    /// Runs one statement and returns its rows.
    ///
    /// - Parameters:
    ///   - query: The statement with its parameters.
    ///   - deadline: When to give up; nil means the transaction's deadline, or else the current work's
    ///     (`Deadline.current`), or else the configured statement time-out from now.
    ///     A statement whose deadline has passed is not sent.
    /// - Throws: ``PostgresError``; after `timedOut` or `cancelled` its connection is unusable.
    @discardableResult
    func query(
        _ query: PostgresQuery, deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> PostgresResult
}

extension PostgresQuerying {
    /// Runs one statement with the default deadline and returns its rows.
    @discardableResult
    public func query(_ query: PostgresQuery) async throws(PostgresError) -> PostgresResult {
        try await self.query(query, deadline: nil)
    }
}
