public import Contracts
public import Foundation
import HTTPTypes
public import Hummingbird
import HummingbirdCore
import NIOCore
public import Observability

/// What a route knows of the request besides its head and body.
public struct GatehouseRequestContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The client's `X-Request-Id` where it is well-formed, else a new one.
    public let requestID: String
    /// The request's own span in its trace.
    public let trace: TraceContext
    /// The caller's span; `nil` where the trace begins here.
    let parentSpanID: String?
    /// When the request's head was read.
    let readAt: ContinuousClock.Instant
    /// When the request came: when its head was read, or earlier where somebody knows that it waited before.
    public private(set) var arrivedAt: ContinuousClock.Instant
    /// When the caller stops waiting.
    public private(set) var deadline: Deadline
    /// The service whose credential was shown.
    public let caller: String?
    /// The signed-in user, whom the gateway has told of: present only together with its credential. Or, in a service that
    /// no gateway stands before, the user whose access token the service has verified itself.
    public package(set) var user: ForwardedUser?
    /// Why the gateway refused the bearer, on a route that decides by itself what follows.
    public let bearerError: ErrorCode?
    /// The client's address as the gateway saw it, or that of the connection.
    public let clientAddress: String
    /// The request's fields, where it showed the gateway's credential.
    let fieldsOfGateway: HTTPFields?
    private let channel: any Channel

    /// A context of a request that came from nobody in particular.
    public init(source: ApplicationRequestContextSource) {
        self.init(
            fields: [:], readAt: .now, source: source, credentials: CallerCredentials([:]),
            patience: Deadline.defaultPatience, sampler: nil)
    }

    /// - Parameters:
    ///   - readAt: when the request's head was read.
    ///   - patience: how long PostgreSQL may keep the request.
    ///   - sampler: decides whether the trace is recorded; `nil` where none is.
    init(
        fields: HTTPFields, readAt: ContinuousClock.Instant, source: ApplicationRequestContextSource,
        credentials: CallerCredentials, patience: Duration, sampler: TraceSampler?
    ) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        caller = fields[.gatehouseCredential].flatMap(credentials.caller(showing:))
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
        let trace = parent?.child() ?? TraceContext()
        if let sampler {
            // A caller without a credential is anybody.
            let isSampled = sampler.samples(
                parent: parent?.isSampled, isTrusted: caller != nil, random: .random(in: .min ... .max))
            self.trace = trace.sampled(isSampled)
        } else {
            self.trace = trace
        }
        deadline = Deadline(
            readAt + Self.callersPatience(fields[.gatehouseDeadline], isKnownCaller: caller != nil),
            patience: patience)
    }

    /// Takes the request for one that waited before its head was read, and whose caller waited with it.
    mutating func waited(for duration: Duration) {
        arrivedAt -= duration
        deadline = deadline.earlier(by: duration)
    }

    static let gateway = "gateway"

    /// Whether the gateway has sent the request: what its fields tell is true.
    public var isFromGateway: Bool { caller == Self.gateway }

    /// Whether the caller still holds the connection: one that gave up has closed it.
    public var isAnswerAwaited: Bool { channel.isActive }

    /// The signed-in user.
    ///
    /// - Throws: `INVALID_TOKEN` where there is none, or what the gateway found wrong with the bearer.
    public func requireUser() throws(Problem) -> ForwardedUser {
        guard let user else { throw Problem(bearerError ?? .invalidToken) }
        return user
    }

    /// The path's parameter as a UUID.
    ///
    /// - Throws: `NOT_FOUND` where it is none: nothing can stand under that path.
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

    /// How long the caller waits from when the head was read. Anyone may ask for a shorter wait than the default; only a
    /// known caller for a longer one.
    private static func callersPatience(_ field: String?, isKnownCaller: Bool) -> Duration {
        guard let patience = milliseconds(field) else { return defaultPatience }
        return min(patience, isKnownCaller ? longestPatience : defaultPatience)
    }

    /// `nil` where the field is missing or makes no sense.
    private static func milliseconds(_ field: String?) -> Duration? {
        guard let field, let milliseconds = Int64(field), milliseconds >= 0 else { return nil }
        return .milliseconds(milliseconds)
    }

    static let defaultPatience = Duration.seconds(10)
    static let longestPatience = Duration.seconds(60)
}
