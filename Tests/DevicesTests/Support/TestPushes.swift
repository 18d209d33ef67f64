import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Logging
import Postgres
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// A push service that answers as a test configures it.
final class FakePushService: PushService, Service {
    private struct State {
        var sent: [RenderedPush] = []
        var answer: @Sendable (RenderedPush) async -> SendOutcome
    }

    static let accepted = SendOutcome.answered(
        APNsAnswer(status: 200, reason: nil, invalidSince: nil, retryAfter: nil))

    private let state: Mutex<State>

    init(_ answer: @escaping @Sendable (RenderedPush) async -> SendOutcome = { _ in accepted }) {
        state = Mutex(State(answer: answer))
    }

    /// A push service whose answers never come.
    static func silent() -> FakePushService {
        FakePushService { _ in
            for await _ in AsyncStream(Void.self, { _ in }) {}
            return .inDoubt
        }
    }

    static func refusing(_ status: Int, _ reason: String?, since: Date? = nil) -> FakePushService {
        FakePushService { _ in
            .answered(APNsAnswer(status: status, reason: reason, invalidSince: since, retryAfter: nil))
        }
    }

    /// The pushes that were sent, in order.
    var sent: [RenderedPush] { state.withLock { $0.sent } }

    /// A test may limit them.
    let streams = Mutex(Int.max)

    var maximumStreams: Int { streams.withLock { $0 } }

    func run() async throws { try await gracefulShutdown() }

    func send(_ push: RenderedPush) async -> SendOutcome {
        let answer = state.withLock { state in
            state.sent.append(push)
            return state.answer
        }
        return await answer(push)
    }
}

/// Sessions of which tokens says that they are live.
final class FakeSessions: Sendable {
    struct State {
        var ended: Set<UUID> = []
        var isDown = false
        /// Seconds until they end.
        var lifetime = 3600.0
        /// Requests so far.
        var asked: [Set<UUID>] = []
    }

    let state = Mutex(State())

    var asked: [Set<UUID>] { state.withLock { $0.asked } }

    @Sendable func read(_ ids: [UUID]) throws -> LiveSessions {
        try state.withLock { state in
            state.asked.append(Set(ids))
            if state.isDown { throw TestKitError("tokens is down") }
            return LiveSessions(
                ids.filter { !state.ended.contains($0) }.map { (id: $0, expiresAt: .now + state.lifetime) })
        }
    }
}

/// The stores of push delivery in one database, and senders as of several replicas.
struct TestPushes: Sendable {
    let registry: TestRegistry
    let activity = PushActivity()
    let sessions = FakeSessions()
    /// Of the senders.
    let log = CapturedLog()

    var database: PostgresPool { registry.database }
    var store: PushStore { PushStore(database: database, unseen: Self.unseen, logger: .quiet) }
    var queue: PushQueueStore { PushQueueStore(database: database) }
    /// As of another replica, each time.
    var starter: PushStarter { PushStarter(database: database) }
    var channels: PushChannelStore { PushChannelStore(database: database) }
    var slices: PushSliceStore { store.slices }

    static let caller = "orders"
    static let tagSpace = TagSpace(name: caller)
    static let app = "com.example.app"
    static let unseen = UnseenRules(pauseDays: 60, retentionDays: 270)

    /// The limits of a sender that looks often.
    static let limits: PushSender.Limits = {
        var limits = PushSender.Limits()
        limits.interval = .milliseconds(20)
        limits.idleInterval = .milliseconds(20)
        // A busy machine does not reach it.
        limits.freshness = .seconds(20)
        return limits
    }()

    /// A sender whose looks at the queue do not come.
    static let withoutLooks: PushSender.Limits = {
        var limits = TestPushes.limits
        (limits.interval, limits.idleInterval) = (.seconds(600), .seconds(600))
        return limits
    }()

    static func with(_ body: (TestPushes) async throws -> Void) async throws {
        try await with { pushes, _ in try await body(pushes) }
    }

    /// - Parameter body: gets the address of the database too.
    static func with(_ body: (TestPushes, _ url: String) async throws -> Void) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pushes = TestPushes(registry: TestRegistry(database.pool))
            // A busy machine does not reach it.
            try await pushes.endReading(after: "1 hour")
            try await body(pushes, database.url)
        }
    }

    /// A second link to the database, through a proxy that can cut it, with `connections` that are open.
    static func withLink(
        to url: String, connections: Int = 4, _ body: (TCPProxy, PostgresPool) async throws -> Void
    ) async throws {
        var components = try #require(URLComponents(string: url))
        let port = try #require(components.port)
        try await withTCPProxy(to: port) { proxy in
            components.host = "127.0.0.1"
            components.port = proxy.port
            var limits = PostgresPoolConfiguration.patient
            limits.maximumConnections = connections
            let pool = PostgresPool(configuration: try .patient(components.string ?? ""), pool: limits)
            defer { pool.close() }
            try await pool.query("SELECT 1")
            try await body(proxy, pool)
        }
    }

    /// Replaces the tenth of a second after which `advance_push_slice` reads no further.
    func endReading(after time: String) async throws {
        let rows = try await database.query("SELECT pg_get_functiondef('advance_push_slice'::regproc)")
        let function = try #require(try rows.first?.decode(String.self))
        let limit = /started_at \+ interval '[^']*'/
        try #require(function.firstMatch(of: limit) != nil)
        try await database.query("\(unescaped: function.replacing(limit, with: "started_at + interval '\(time)'"))")
    }

    /// Registers a device of a user.
    func register(
        _ user: SignedIn, token: String, kind: PushKind = .alert, bundle: String = app, activity: String? = nil,
        attributesType: String? = nil, locale: String? = nil, timeZone: String? = nil
    ) async throws -> Device {
        let registration = try DeviceStoreTests.registration(
            token: token, bundle: bundle, kind: kind, activity: activity, attributesType: attributesType,
            locale: locale, timeZone: timeZone)
        guard let device = try await registry.register(registration, user: user.id, session: user.session) else {
            throw TestKitError("the session has ended")
        }
        return device
    }

    /// Users with devices of their own, which are inserted as rows: registering many takes long.
    func insertUsers(_ count: Int, devices: Int) async throws -> [UUID] {
        let users = (0..<count).map { _ in UUID() }
        try await database.query(
            """
            INSERT INTO devices
                (bucket, user_id, session_id, token_hash, token_epoch, sealed_token, environment, bundle_id, kind)
            SELECT bucket, id, gen_random_uuid(), sha256(uuid_send(gen_random_uuid())), 1, ''::bytea, 'sandbox',
                \(Self.app), 'alert'
            FROM unnest(\(users.map { Bucket(user: $0).rawValue }), \(users)) AS named (bucket, id),
                generate_series(1, \(Int32(devices)))
            """)
        return users
    }

    static func valid(
        _ targets: PushRequest.Targets, templates: PushTemplates = PushTemplates(),
        _ change: (inout PushRequest) -> Void = { _ in }
    ) throws -> ValidPush {
        var request = PushRequest(targets: targets, bundleId: app, pushType: .alert, payload: .object([:]))
        change(&request)
        return try PushRules.validate(
            request, payload: Array(#"{"aps":{}}"#.utf8), of: PushCaller(name: caller, bundleIDs: [], types: []),
            templates: templates, now: .now)
    }

    /// Accepts a push. Returns its id.
    ///
    /// - Parameter window: of the sender of the replica that accepts it; without it the push is queued.
    func accept(
        _ targets: PushRequest.Targets, of caller: String = caller, through window: SendWindow? = nil,
        templates: PushTemplates = PushTemplates(), _ change: (inout PushRequest) -> Void = { _ in }
    ) async throws -> UUID {
        let acceptance = try await store.accept(
            Self.valid(targets, templates: templates, change), of: caller, key: UUID().uuidString,
            hash: Data(count: 32), through: window)
        guard case .accepted(let answer, _) = acceptance, let id = answer.id.flatMap(UUID.init(uuidString:)) else {
            throw TestKitError("not accepted")
        }
        activity.accepted(QueueLoad(devices: answer.devices ?? 0), of: caller)
        return id
    }

    func status(of push: UUID) async throws -> PushStatus {
        guard let status = try await store.status(of: push, of: Self.caller, after: nil) else {
            throw TestKitError("no such push")
        }
        return status
    }

    /// Claims what is due, up to a hundred targets.
    func claims() async throws -> [ClaimedTarget] {
        var due = try await queue.due(limit: 100)
        return try await queue.claim(due.take(100), lease: .seconds(30))
    }

    /// How many pushes count towards a user's cap, by day.
    func counts(of user: SignedIn) async throws -> [Int] {
        try await database.query(
            """
            SELECT cardinality(pushes) FROM push_user_days
            WHERE bucket = \(Bucket(user: user.id).rawValue) AND user_id = \(user.id) ORDER BY day
            """
        ).decode(Int.self)
    }

    /// The states of the push's devices, each with its reason.
    func states(of push: UUID) async throws -> [String] {
        try await status(of: push).devices.map { $0.state.rawValue + ($0.reason.map { " \($0)" } ?? "") }.sorted()
    }

    func eventually(_ push: UUID, is states: String...) async throws {
        try await TestKit.eventually("the states are \(states)") {
            try await self.states(of: push) == states.sorted()
        }
    }

    private func delivery(
        _ pushService: FakePushService, _ limits: PushSender.Limits, liveness: SessionLiveness? = nil,
        queue: PushQueueStore? = nil
    ) -> PushDelivery {
        PushDelivery(
            queue: queue ?? self.queue, pushService: pushService,
            liveness: liveness ?? SessionLiveness(maximumStaleness: .seconds(60), sessions.read),
            protection: registry.protection, rules: DeliveryRules(unseen: Self.unseen), limits: limits,
            metrics: PushMetrics(), logger: log.logger)
    }

    func sender(
        _ pushService: FakePushService, limits: PushSender.Limits = limits, activity: PushActivity? = nil,
        liveness: SessionLiveness? = nil, queue: PushQueueStore? = nil
    ) -> PushSender {
        PushSender(
            delivery: delivery(pushService, limits, liveness: liveness, queue: queue),
            activity: activity ?? self.activity,
            starter: starter)
    }

    /// - Parameter slices: those of another link to PostgreSQL.
    func bulkSender(
        _ pushService: FakePushService, limits: PushSender.Limits = limits, slices: PushSliceStore? = nil
    ) -> BulkSender {
        BulkSender(delivery: delivery(pushService, limits), activity: activity, slices: slices ?? self.slices)
    }

    /// Runs a sender of bulk pushes for as long as `body` runs. Then it is cancelled, as if the process had died.
    func sendingBulk(
        through pushService: FakePushService, limits: PushSender.Limits = limits, _ body: () async throws -> Void
    ) async throws {
        activity.feedWasRead()
        let sender = bulkSender(pushService, limits: limits)
        let task = Task { await sender.run() }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        task.cancel()
        await task.value
        try result.get()
    }

    /// Runs a sender for as long as `body` runs. Then it is cancelled: what it holds stays claimed.
    ///
    /// - Parameter activity: of a second replica.
    func sending(
        through pushService: FakePushService, limits: PushSender.Limits = limits, activity: PushActivity? = nil,
        _ body: () async throws -> Void
    ) async throws {
        (activity ?? self.activity).feedWasRead()
        let sender = sender(pushService, limits: limits, activity: activity)
        let task = Task { await sender.run() }
        do {
            try await body()
        } catch {
            task.cancel()
            await task.value
            throw error
        }
        task.cancel()
        await task.value
    }

    /// Holds up each statement that writes a table, until `body` calls its argument.
    func gate(_ table: String, _ body: (_ open: () async throws -> Void) async throws -> Void) async throws {
        try await database.query(
            """
            CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_advisory_xact_lock_shared(37);
                RETURN NEW;
            END
            $$
            """)
        try await database.query(
            """
            CREATE TRIGGER wait_at_gate BEFORE UPDATE ON \(unescaped: table)
            FOR EACH ROW EXECUTE FUNCTION wait_at_gate()
            """)
        try await database.withConnection { connection in
            try await connection.query("SELECT pg_advisory_lock(37)")
            var isOpen = false
            func open() async throws {
                guard !isOpen else { return }
                isOpen = true
                try await connection.query("SELECT pg_advisory_unlock(37)")
            }
            do { try await body(open) } catch {
                try await open()
                throw error
            }
            try await open()
        }
    }

    /// Starts all pushes that are due. Returns the number of steps.
    func startDue() async throws -> Int {
        let starter = starter
        var steps = 0
        while try await starter.step() == .added { steps += 1 }
        return steps
    }

    /// Makes waiting targets due, and ends leases.
    func makeDue() async throws {
        try await database.query(
            "UPDATE push_targets SET due_at = now() - interval '1 second' WHERE due_at IS NOT NULL")
    }

    /// Makes waiting slices due, and ends leases.
    func makeSlicesDue() async throws {
        try await database.query("UPDATE push_slices SET due_at = now() - interval '1 second'")
    }

    func expire(_ push: UUID) async throws {
        try await database.query("UPDATE pushes SET expires_at = now() - interval '1 second' WHERE id = \(push)")
        try await makeDue()
    }
}

extension PushQueueStore {
    /// Counts pushes of the app of tests, each with its cap.
    func capped(_ claims: [(ClaimedTarget, Int)]) async throws(PostgresError) -> Set<PushTarget> {
        try await capped(
            claims.map { CappedClaim(claim: $0, app: TestPushes.app, cap: $1) }, userCap: nil)
    }
}

/// The service with a push service of a test.
enum DevicesWithPushService: ServiceApplication {
    @TaskLocal static var pushService = FakePushService()
    /// Answers requests about channels.
    @TaskLocal static var channels: @Sendable (ChannelRequest) async -> SendOutcome = { _ in
        .notSent(.unreachable)
    }

    static let name = DevicesApplication.name
    static let defaultPort = DevicesApplication.defaultPort

    static func configuration(from settings: Settings) -> DevicesConfiguration {
        DevicesConfiguration(settings: settings)
    }

    static func build(_ configuration: DevicesConfiguration, boot: ServiceBoot) async throws -> ServiceAssembly {
        DevicesApplication.assemble(configuration, boot: boot, pushService: pushService, channels: channels)
    }
}
