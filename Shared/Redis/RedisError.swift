/// An error of a command or a connection.
///
/// Most callers need only ``isUnavailable`` (Redis cannot serve now: continue without it, or retry soon) and, for all
/// other errors, ``code``.
public struct RedisError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. Open: later versions may add codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The address or an option in it cannot be used.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// There is no connection. The command was not sent.
        public static let notConnected = Code(rawValue: "notConnected")
        /// The server refused user name or password while connecting.
        public static let authenticationFailed = Code(rawValue: "authenticationFailed")
        /// The connection ended before the answer came. Whether the command was carried out is unknown.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// No answer came within the command's timeout. Whether the command was or will be carried out is unknown.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The maximum number of commands already waits for answers. The command was not sent.
        public static let queueFull = Code(rawValue: "queueFull")
        /// The calling task was cancelled. Whether the command was or will be carried out is unknown.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The server answered with an error; ``RedisError/serverCode`` says which.
        public static let server = Code(rawValue: "server")
        /// The answer was not valid RESP2, was larger than allowed, or belonged to no command. The connection is
        /// closed.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// The client was shut down.
        public static let shutDown = Code(rawValue: "shutDown")
    }

    public let code: Code
    /// For logs and developers; never contains a password or a command's arguments, except in an error text of the
    /// server.
    public let message: String
    /// The first word of the server's error (`WRONGTYPE`, `NOSCRIPT`); `nil` unless ``code`` is ``Code/server``
    /// or ``Code/authenticationFailed``.
    public let serverCode: String?
    /// The error of a lower layer (socket, TLS), where there was one.
    public let underlying: (any Error)?

    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.serverCode = nil
        self.underlying = underlying
    }

    /// An error answer as the server worded it.
    init(serverMessage: String, code: Code = .server) {
        self.code = code
        self.message = serverMessage
        self.serverCode = Self.serverCode(of: serverMessage)
        self.underlying = nil
    }

    /// The first word of an error answer. Before version 7, Redis wraps the error of a command in a script in an `ERR`:
    /// "ERR Error running script (call to f_…): @user_script:4: @user_script: 4: -READONLY You can't write".
    private static func serverCode(of message: String) -> String {
        let isOfScript = message.utf8.starts(with: "ERR Error running script ".utf8)
        let inner = isOfScript ? message.split(separator: ": ").first { $0.utf8.first == UInt8(ascii: "-") } : nil
        return String((inner?.dropFirst() ?? message[...]).prefix { $0 != " " })
    }

    /// Whether Redis cannot serve at the moment, as opposed to a command that is wrong or a caller that gave up.
    public var isUnavailable: Bool {
        switch code {
        case .notConnected, .authenticationFailed, .connectionLost, .timedOut, .queueFull, .protocolViolation,
            .shutDown:
            true
        case .server:
            Self.passingServerCodes.contains(serverCode ?? "")
        default:
            false
        }
    }

    /// Errors that report the server's state, not a problem of the command.
    private static let passingServerCodes: Set<String> = [
        "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN",
    ]

    public var description: String {
        "RedisError(\(code.rawValue): \(message)\(underlying.map { "; \($0)" } ?? ""))"
    }
}
