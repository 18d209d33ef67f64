import Crypto
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import Synchronization

/// The routes of services that push. A caller sees its own pushes only.
struct PushRoutes: Sendable {
    let store: PushStore
    let outcomes: PushOutcomeFeed
    let callers: PushCallers
    let templates: PushTemplates
    let activity: PushActivity
    /// What one caller's pushes may take up before further ones are refused.
    let queueLimit: QueueLoad
    /// Whether a push service exists that sends pushes.
    let canSend: Bool
    private let dryRuns = DryRuns()

    init(
        store: PushStore, outcomes: PushOutcomeFeed, callers: PushCallers, templates: PushTemplates,
        activity: PushActivity, queueLimit: QueueLoad, canSend: Bool
    ) {
        self.store = store
        self.outcomes = outcomes
        self.callers = callers
        self.templates = templates
        self.activity = activity
        self.queueLimit = queueLimit
        self.canSend = canSend
    }

    /// Seconds after which a caller with a full queue may try again.
    private static let retryAfter = 5
    /// The same while too many of its pushes to segments are open.
    private static let retryAfterBulk = 60
    /// The same while another dry run of the caller is counting.
    private static let retryAfterDryRun = 1

    func add(to router: ServiceRouter) {
        router.internal(callers: callers.names)
            .post("/push", use: accept)
            .get("/push/outcomes", use: listOutcomes)
            .get("/push/dead", use: listDead)
            .post("/push/dead/{id}/replay", use: replay)
            .get("/push/{id}", use: status)
            .delete("/push/{id}", use: cancel)
    }

    private func accept(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let caller = try caller(context)
        try checkCanSend()
        let key = try Self.key(of: request)
        let (input, body, payload) = try await Self.decode(PushRequest.self, from: request)
        let hash = Data(SHA256.hash(data: body))
        let push: ValidPush
        do {
            push = try PushRules.validate(
                input, payload: payload, of: caller, templates: templates, now: .now)
        } catch {
            // A repetition may come after the expiration, or after a change of its template.
            guard let former = try await store.former(key, of: caller.name), former.hash == hash else { throw error }
            return try .json(former.answer, status: .accepted, holdsToken: true)
        }
        guard caller.allows(push.content.type, to: push.content.bundleID) else { throw Problem(.forbidden) }
        return try await keep(push, of: caller, key: key, hash: hash)
    }

    /// Decodes a request with a payload, unless the payload is too large in any form: nothing is built of that.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from request: Request
    ) async throws -> (value: Value, body: [UInt8], payload: [UInt8]) {
        var payload: [UInt8] = []
        let (value, body) = try await request.decodeKeepingBody(type) { body in
            payload = Array(StrictJSON.bytes(ofMember: "payload", in: body) ?? [])
            try PayloadRules.checkRawSize(payload)
        }
        return (value, body, payload)
    }

    /// Keeps a push, and answers.
    ///
    /// - Parameter hash: of the request.
    func keep(_ push: ValidPush, of caller: PushCaller, key: String, hash: Data) async throws -> Response {
        if push.isDryRun { return try await count(push, of: caller) }
        try checkQueue(of: caller)
        let acceptance = try await store.accept(push, of: caller.name, key: key, hash: hash, through: activity.window)
        switch acceptance {
        case .keyReused: throw Problem(.idempotencyKeyReused)
        case .tooManyOpen:
            throw Problem(.rateLimited, "Too many pushes to segments are open.", retryAfter: Self.retryAfterBulk)
        case .accepted(let answer, let isNew):
            if isNew {
                activity.accepted(
                    answer.devices.map { QueueLoad(devices: $0) }
                        ?? QueueLoad(devices: push.recipientCount, bytes: push.bytes), of: caller.name)
                if answer.devices == nil, push.sendAt == nil { activity.acceptedUnstarted() }
            }
            return try .json(answer, status: .accepted, holdsToken: true)
        }
    }

    /// Answers a dry run. Of a caller's one at a time counts, because it may read many devices.
    private func count(_ push: ValidPush, of caller: PushCaller) async throws -> Response {
        guard dryRuns.begin(of: caller.name) else {
            throw Problem(.rateLimited, "A dry run is in progress.", retryAfter: Self.retryAfterDryRun)
        }
        defer { dryRuns.end(of: caller.name) }
        return try .json(await store.dryRun(push), status: .ok, holdsToken: true)
    }

    private func checkQueue(of caller: PushCaller) throws(Problem) {
        let load = activity.queueLoad(of: caller.name)
        guard load.devices < queueLimit.devices else {
            throw Problem(.rateLimited, "Too many pushes wait.", retryAfter: Self.retryAfter)
        }
        guard load.bytes < queueLimit.bytes else {
            throw Problem(.rateLimited, "The pushes that wait are too large.", retryAfter: Self.retryAfter)
        }
    }

    private func status(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let cursor = try Self.cursor(of: request, TargetCursor.init(text:))
        let push = try await store.status(of: context.uuid("id"), of: caller(context).name, after: cursor)
        guard let push else { throw Problem(.notFound) }
        return try .json(push, holdsToken: true)
    }

    private func cancel(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        guard try await store.cancel(context.uuid("id"), of: caller(context).name) else { throw Problem(.notFound) }
        return .empty()
    }

    /// A long poll: `after` is the cursor of the previous page, `wait` is in seconds.
    private func listOutcomes(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let page = try await outcomes.page(
            of: caller(context).name, after: request.uri.queryParameters.get("after"),
            waitingUntil: context.longPollEnd(of: request))
        return try .json(page, holdsToken: true)
    }

    private func listDead(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let cursor = try Self.cursor(of: request, DeadCursor.init(text:))
        return try .json(await store.dead(of: caller(context).name, after: cursor), holdsToken: true)
    }

    private func replay(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let caller = try caller(context)
        let expiresAt = try PushRules.validate(await request.decode(PushReplay.self), now: .now)
        try checkQueue(of: caller)
        let id = try context.uuid("id")
        guard let devices = try await store.replay(id, of: caller.name, until: expiresAt) else {
            throw Problem(.notFound)
        }
        activity.accepted(QueueLoad(devices: devices), of: caller.name)
        return try .json(
            PushAccepted(id: id.uuidString.lowercased(), devices: devices), status: .accepted, holdsToken: true)
    }

    func checkCanSend() throws(Problem) {
        guard !canSend else { return }
        throw Problem(.unavailable, "Push delivery is not configured (DEVICES_APNS_KEYS_FILE).", retryAfter: 60)
    }

    static func key(of request: Request) throws(Problem) -> String {
        guard let key = request.headers[.idempotencyKey], PushRules.isKey(key) else { throw noKey }
        return key
    }

    static let noKey = Problem.invalid(
        "Idempotency-Key", "This header must have 1 to \(PushRules.maximumKey) visible ASCII characters.")

    func caller(_ context: GatehouseRequestContext) throws(Problem) -> PushCaller {
        try callers.caller(context)
    }

    static func cursor<Cursor>(
        of request: Request, _ parse: (String) -> Cursor?
    ) throws(Problem) -> Cursor? {
        guard let text = request.uri.queryParameters.get("after") else { return nil }
        guard let cursor = parse(text) else { throw Problem.invalid("after", "This must be `next` of another page.") }
        return cursor
    }
}

/// The callers whose dry runs are counting.
private final class DryRuns: Sendable {
    private let callers = Mutex<Set<String>>([])

    /// - Returns: false if one of the caller is in progress.
    func begin(of caller: String) -> Bool { callers.withLock { $0.insert(caller).inserted } }

    func end(of caller: String) {
        callers.withLock { _ = $0.remove(caller) }
    }
}

extension PushCallers {
    /// The caller of a request.
    func caller(_ context: GatehouseRequestContext) throws(Problem) -> PushCaller {
        guard let caller = context.caller.flatMap({ callers[$0] }) else { throw Problem(.forbidden) }
        return caller
    }
}

extension InvalidPush: ProblemConvertible {
    var problem: Problem { InvalidRegistration(fields: fields).problem }
}

extension HTTPField.Name {
    /// As in the IETF's draft "The Idempotency-Key HTTP Header Field".
    fileprivate static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
