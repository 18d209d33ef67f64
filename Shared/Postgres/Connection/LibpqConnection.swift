import CLibpq
import Foundation
import GatehouseThreads

/// libpq's connection, driven without its blocking calls. Every wait has a deadline and can be interrupted.
///
/// Not `Sendable`: one ``PostgresConnection`` owns it and uses it only on its own thread.
final class LibpqConnection {
    private let raw: OpaquePointer
    private let control: ConnectionControl
    /// Whether libpq still holds bytes that the socket has not accepted.
    private var isUnflushed = false

    /// When the last byte arrived.
    private(set) var heardAt = ContinuousClock.now

    /// The random value that marks the session (``PostgresConfiguration/markName``).
    let mark = String(UInt64.random(in: 0...UInt64.max), radix: 16)

    /// Starts to connect to one server.
    init(
        _ configuration: PostgresConfiguration, to server: ServerAddress, control: ConnectionControl
    ) throws(PostgresError) {
        OpenSSLAtExit.keepLocks()
        self.control = control
        let parameters = try configuration.connectionParameters(for: server, mark: mark)
        let raw = PQconnectStart(LibpqOptions.connectionString(of: parameters))
        guard let raw else { throw PostgresError(.connectionFailed, "out of memory") }
        self.raw = raw
        // A refused connection has no result with fields. In this form its message contains the SQLSTATE.
        PQsetErrorVerbosity(raw, PQERRORS_VERBOSE)
        // Otherwise libpq prints notices to standard error.
        PQsetNoticeReceiver(raw, { _, _ in }, nil)
        guard PQstatus(raw) != CONNECTION_BAD else { throw connectionFailure }
    }

    deinit {
        // Sends a Terminate message if the socket accepts it at once, and never waits.
        PQfinish(raw)
    }

    /// The socket, or -1.
    var socket: Int32 { PQsocket(raw) }

    var status: ConnectionControl.Status {
        switch PQtransactionStatus(raw) {
        case PQTRANS_IDLE: .idle
        case PQTRANS_INTRANS, PQTRANS_INERROR: .inTransaction
        default: .closed
        }
    }

    /// Whether the server has a whole batch and has not answered all of it. A server that lacks the end of a batch
    /// cannot have begun its COMMIT.
    var isUnanswered: Bool { PQtransactionStatus(raw) == PQTRANS_ACTIVE && !isUnflushed }

    /// Connects, negotiates TLS and authenticates.
    func connect(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        var polling = PGRES_POLLING_WRITING
        while polling != PGRES_POLLING_OK {
            // The socket changes when libpq tries the next address.
            switch polling {
            case PGRES_POLLING_READING: _ = try wait(for: POLLIN, until: deadline)
            case PGRES_POLLING_WRITING: _ = try wait(for: POLLOUT, until: deadline)
            default: throw connectionFailure
            }
            polling = PQconnectPoll(raw)
        }
        // From here on errors come as results with fields.
        PQsetErrorVerbosity(raw, PQERRORS_DEFAULT)
        guard PQsetnonblocking(raw, 1) == 0, PQenterPipelineMode(raw) == 1 else { throw connectionFailure }
    }

    // MARK: Sending (into libpq's buffer, until `flush`)

    func sendPrepare(_ name: String, _ query: PostgresQuery) throws(PostgresError) {
        let types = query.parameters.types.map(\.oid)
        try check(PQsendPrepare(raw, name, query.sql, Int32(types.count), types))
    }

    /// Runs `query` as the prepared statement `name`, or unprepared.
    func sendExecute(_ name: String?, _ query: PostgresQuery) throws(PostgresError) {
        let parameters = query.parameters
        let count = parameters.count
        let sent = parameters.bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: count * 2) { numbers in
                    let (lengths, formats) = (numbers.baseAddress!, numbers.baseAddress! + count)
                    for (index, value) in parameters.values.enumerated() {
                        values[index] = value.offset.map {
                            (bytes.baseAddress! + $0).assumingMemoryBound(to: CChar.self)
                        }
                        lengths[index] = Int32(value.length)
                        formats[index] = value.format.rawValue
                    }
                    let format = query.resultFormat.rawValue
                    if let name {
                        return PQsendQueryPrepared(
                            raw, name, Int32(count), values.baseAddress, lengths, formats, format)
                    }
                    let types = parameters.types.map(\.oid)
                    return PQsendQueryParams(
                        raw, query.sql, Int32(count), types, values.baseAddress, lengths, formats, format)
                }
            }
        }
        try check(sent)
    }

    /// Ends a batch and writes it to the socket. Bytes that the socket does not accept at once are written while
    /// results are read.
    func sync() throws(PostgresError) {
        try check(PQpipelineSync(raw))
        try flush()
    }

    /// Sends a script of several statements, for which libpq leaves its pipeline mode.
    func sendScript(_ sql: String) throws(PostgresError) {
        try check(PQexitPipelineMode(raw))
        try check(PQsendQuery(raw, sql))
        try flush()
    }

    func endScript() throws(PostgresError) {
        try check(PQenterPipelineMode(raw))
    }

    // MARK: Receiving

    /// The next result, or nil where libpq marks the end of a statement's results.
    func nextResult(until deadline: ContinuousClock.Instant) throws(PostgresError) -> ResultStorage? {
        while PQisBusy(raw) != 0 {
            let events = try wait(for: isUnflushed ? POLLIN | POLLOUT : POLLIN, until: deadline)
            if events & Int16(POLLOUT) != 0 { try flush() }
            if events & ~Int16(POLLOUT) != 0 {
                if PQconsumeInput(raw) == 0 { throw connectionLoss }
                heardAt = .now
            }
        }
        return PQgetResult(raw).map(ResultStorage.init)
    }

    /// Reads on until the server has answered everything.
    func drain(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        var ends = 0
        // libpq returns nil after the results of each statement, and twice in a row only at the end.
        while isUnanswered, ends < 2 {
            switch try nextResult(until: deadline)?.status {
            case nil: ends += 1
            case PGRES_COPY_IN?, PGRES_COPY_OUT?, PGRES_COPY_BOTH?: return
            default: ends = 0
            }
        }
    }

    // MARK: Waiting

    /// Waits until the socket is ready, and returns its events.
    private func wait(for events: Int32, until deadline: ContinuousClock.Instant) throws(PostgresError) -> Int16 {
        while true {
            let timeout = (deadline - .now).milliseconds
            guard timeout > 0 else { throw PostgresError(.timedOut, "the deadline passed", outcomeIsUnknown: true) }
            var descriptors = (
                pollfd(fd: PQsocket(raw), events: Int16(events), revents: 0),
                pollfd(fd: control.interruptDescriptor, events: Int16(POLLIN), revents: 0)
            )
            guard descriptors.0.fd >= 0 else { throw connectionLoss }
            let ready = withUnsafeMutablePointer(to: &descriptors) {
                $0.withMemoryRebound(to: pollfd.self, capacity: 2) { poll($0, 2, Int32(clamping: timeout)) }
            }
            if ready < 0, errno != EINTR {
                throw PostgresError(.connectionLost, "poll: errno \(errno)", outcomeIsUnknown: true)
            }
            if descriptors.1.revents != 0 {
                throw PostgresError(.cancelled, "the task was cancelled", outcomeIsUnknown: true)
            }
            if ready > 0 { return descriptors.0.revents }
        }
    }

    private func flush() throws(PostgresError) {
        switch PQflush(raw) {
        case 0: isUnflushed = false
        case 1: isUnflushed = true
        default: throw connectionLoss
        }
    }

    private func check(_ succeeded: Int32) throws(PostgresError) {
        if succeeded != 1 { throw connectionLoss }
    }

    private var connectionLoss: PostgresError {
        PostgresError(connectionLost: String(cString: PQerrorMessage(raw)))
    }

    private var connectionFailure: PostgresError {
        let message = String(cString: PQerrorMessage(raw)).trimmed
        let lines = message.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }
        // As in "FATAL:  28P01: password authentication failed".
        let state = message.firstMatch(of: #/:  ([0-9A-Z]{5}): /#).map { SQLState(String($0.1)) }
        let reason = PostgresError.Reason(libpq: message)
        let hint = reason == .unknownPooler ? "; \(PostgresError.unknownPooler)" : ""
        return PostgresError(
            .connectionFailed, lines.joined(separator: " ") + hint, reason: reason, sqlState: state)
    }
}

extension PostgresError {
    /// - Parameter message: libpq's.
    init(connectionLost message: String) {
        self.init(.connectionLost, message.trimmed, reason: Reason(libpq: message), outcomeIsUnknown: true)
    }
}

extension PostgresError.Reason {
    /// Texts of libpq, OpenSSL and the system. libpq has no codes for these errors.
    private static let texts: [(text: String, reason: Self)] = [
        // PgBouncer's error for `options`, unless it is configured to ignore them.
        ("unsupported startup parameter", .unknownPooler),
        ("Connection refused", .refused), ("could not translate host name", .unknownHost),
        ("No route to host", .unreachable), ("Network is unreachable", .unreachable),
        ("certificate verify failed", .untrustedCertificate), ("does not match host name", .certificateOfOtherHost),
        ("server does not support SSL", .noTLS), ("server closed the connection", .closedByPeer),
        ("Connection reset", .closedByPeer), ("root certificate file", .unreadableRootCertificates),
    ]

    /// - Parameter message: libpq's.
    fileprivate init?(libpq message: String) {
        guard let known = Self.texts.first(where: { message.contains($0.text) }) else { return nil }
        self = known.reason
    }
}

/// The parameters of a connection for libpq, by its keywords.
enum LibpqOptions {
    /// The parameters of a URL; `nil` if libpq cannot read it.
    static func of(url: String) -> [String: String]? {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), !url.utf8.contains(0),
            let options = PQconninfoParse(url, nil)
        else { return nil }
        return values(options) { $0.val }
    }

    /// A connection string with these parameters. In a string, unlike in a list of parameters, an empty value takes the
    /// place of the environment's.
    static func connectionString(of parameters: [String: String]) -> String {
        parameters.map { keyword, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            return "\(keyword)='\(escaped)'"
        }.joined(separator: " ")
    }

    /// The parameters from the environment and from the file that `PGSERVICE` names. libpq uses them for parameters
    /// that a URL lacks.
    static func ofEnvironment() -> [String: String] {
        guard let options = PQconndefaults() else { return [:] }
        return values(options) { option in
            let isDefault = option.val.map { String(cString: $0) } == option.compiled.map { String(cString: $0) }
            return isDefault ? nil : option.val
        }
    }

    /// - Parameter options: libpq's list, which ends with an entry without keyword and is freed here.
    private static func values(
        _ options: UnsafeMutablePointer<PQconninfoOption>,
        _ value: (PQconninfoOption) -> UnsafeMutablePointer<CChar>?
    ) -> [String: String] {
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = value(option.pointee) { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return values
    }
}

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
        /// The cache is full. The limit protects the server's memory from a program that generates ever new statements.
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
