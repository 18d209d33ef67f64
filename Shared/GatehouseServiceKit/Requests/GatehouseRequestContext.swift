public import Foundation
public import GatehouseLimits
public import GatehouseObservability
public import GatehouseServiceContracts
import HTTPTypes
public import Hummingbird
import HummingbirdCore
import NIOCore

/// The data of a request besides its head and body.
public struct GatehouseRequestContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The client's `X-Request-Id` if it is well-formed, otherwise a new one.
    public let requestID: String
    /// The request's own span in its trace.
    public let trace: TraceContext
    /// The caller's span; `nil` if the trace begins here.
    let parentSpanID: String?
    /// When the request's head was read.
    let readAt: ContinuousClock.Instant
    /// When the request arrived: when its head was read, or earlier if the gateway or a stall shows that it waited.
    public private(set) var arrivedAt: ContinuousClock.Instant
    /// For how long the request may have waited in its socket, because the process had stalled.
    private(set) var stall = Duration.zero
    /// When the caller stops waiting. While the request is handled, `Deadline.current` is the same.
    public private(set) var deadline: Deadline
    /// The service whose credential the request has.
    public let caller: String?
    /// The signed-in user from the gateway's fields, present only with the gateway's credential. In a service that
    /// clients reach without the gateway, the user whose access token the service has verified itself.
    public package(set) var user: ForwardedUser?
    /// Why the gateway refused the bearer token, on a route that handles such requests itself.
    public let bearerError: ErrorCode?
    /// The client's address as the gateway saw it, or the address of the connection.
    public let clientAddress: String
    /// The request's fields, if it has the gateway's credential.
    let fieldsOfGateway: HTTPFields?
    private let channel: any Channel

    /// A context for a request without a known caller.
    public init(source: ApplicationRequestContextSource) {
        self.init(
            fields: [:], readAt: .now, source: source, credentials: CallerCredentials([:]),
            databaseTimeout: Deadline.defaultDatabaseTimeout, sampler: nil)
    }

    /// - Parameters:
    ///   - readAt: when the request's head was read.
    ///   - databaseTimeout: the timeout for PostgreSQL.
    ///   - sampler: decides whether the trace is recorded; `nil` if no traces are recorded.
    init(
        fields: HTTPFields, readAt: ContinuousClock.Instant, source: ApplicationRequestContextSource,
        credentials: CallerCredentials, databaseTimeout: Duration, sampler: TraceSampler?
    ) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        caller = fields[.gatehouseCredential].flatMap(credentials.caller(presenting:))
        let isFromGateway = caller == Self.gateway
        fieldsOfGateway = isFromGateway ? fields : nil
        self.readAt = readAt
        let waited = isFromGateway ? Self.milliseconds(fields[.gatehouseWaited]) : nil
        arrivedAt = readAt - (waited ?? .zero)
        user = isFromGateway ? ForwardedUser(fields) : nil
        bearerError = isFromGateway ? fields[.gatehouseBearerError].flatMap(ErrorCode.init(rawValue:)) : nil
        requestID =
            Self.validRequestID(caller == nil ? nil : fields[.gatehouseRequestID])
            ?? Self.validRequestID(fields[.requestID])
            ?? RequestID.make()
        clientAddress =
            (isFromGateway ? fields[.gatehouseClientAddress] : nil) ?? source.channel.remoteAddress?.ipAddress ?? ""
        let parent = fields[.traceparent].flatMap(TraceContext.init(traceparent:))
        parentSpanID = parent?.spanID
        // A caller without a credential is not trusted. It does not decide for the services below this one either.
        let isSampled =
            sampler?.samples(parent: parent?.isSampled, isTrusted: caller != nil, random: .random(in: .min ... .max))
            ?? (caller != nil && parent?.isSampled == true)
        trace = (parent?.child() ?? TraceContext()).sampled(isSampled)
        deadline = Deadline(
            readAt + Self.callerTimeout(fields[.gatehouseDeadline], isKnownCaller: caller != nil),
            databaseTimeout: databaseTimeout)
    }

    /// Counts the time for which the request waited before its head was read. Its caller waited too.
    mutating func waited(for duration: Duration) {
        stall = duration
        arrivedAt -= duration
        deadline = deadline.earlier(by: duration)
    }

    static let gateway = "gateway"

    /// Whether the gateway sent the request. If so, the gateway's fields are trusted.
    public var isFromGateway: Bool { caller == Self.gateway }

    /// Whether the caller's connection is still open: a caller that gave up has closed it.
    public var isAnswerAwaited: Bool { channel.isActive }

    /// The signed-in user.
    ///
    /// - Throws: without a user, `INVALID_TOKEN` or the gateway's error for the bearer token.
    public func requireUser() throws(Problem) -> ForwardedUser {
        guard let user else { throw Problem(bearerError ?? .invalidToken) }
        return user
    }

    /// The path's parameter as a UUID.
    ///
    /// - Throws: `NOT_FOUND` when the parameter is not a UUID, because no resource has such a path.
    public func uuid(_ parameter: String) throws(Problem) -> UUID {
        guard let value = parameters.get(parameter), let uuid = UUID(uuidString: value) else {
            throw Problem(.notFound)
        }
        return uuid
    }

    private static func validRequestID(_ text: String?) -> String? {
        guard let text, RequestID.isValid(text.utf8) else { return nil }
        return text
    }

    /// The caller's timeout, from when the head was read. Any caller may request a shorter one than the default. Only
    /// a known caller may request a longer one.
    private static func callerTimeout(_ field: String?, isKnownCaller: Bool) -> Duration {
        guard let timeout = milliseconds(field) else { return defaultCallerTimeout }
        return min(timeout, isKnownCaller ? maximumCallerTimeout : defaultCallerTimeout)
    }

    /// `nil` when the field is missing or invalid.
    private static func milliseconds(_ field: String?) -> Duration? {
        guard let field, let milliseconds = Int64(field), milliseconds >= 0 else { return nil }
        return .milliseconds(milliseconds)
    }

    static let defaultCallerTimeout = Duration.seconds(10)
    static let maximumCallerTimeout = Duration.seconds(60)
}
