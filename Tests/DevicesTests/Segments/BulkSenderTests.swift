import Foundation
import GatehouseServiceContracts
import Postgres
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Senders of pushes to segments with real PostgreSQL and a push service that answers as configured.
@Suite struct BulkSenderTests {
    /// Devices of users in any bucket, or in the first slice. Returns them.
    @discardableResult
    private func register(_ pushes: TestPushes, _ count: Int, inFirstSlice: Bool = false) async throws -> [Device] {
        var devices: [Device] = []
        for number in 0..<count {
            devices.append(
                try await pushes.register(
                    inFirstSlice ? .inFirstSlice() : SignedIn(), token: String(format: "%04x", number)))
        }
        return devices
    }

    private func eventually(_ pushes: TestPushes, _ push: UUID, has counts: [String: Int]) async throws {
        try await TestKit.eventually("the counts are \(counts)") { try await pushes.status(of: push).counts == counts }
    }

    private func isDone(_ pushes: TestPushes, _ push: UUID) async throws {
        try await TestKit.eventually("the push has ended") { try await pushes.status(of: push).state == .done }
    }

    private func ids(_ push: UUID, _ devices: [Device]) -> Set<UUID> {
        Set(devices.map { PushRules.id(of: push, on: $0.id) })
    }

    /// Devices whose tokens Apple has accepted before, and whose sessions go on, all in the first slice.
    private func registerProven(_ pushes: TestPushes, _ count: Int) async throws {
        let devicesOfUser = RegistrationStore.maximumDevices
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in stride(from: 0, to: count, by: devicesOfUser) {
                group.addTask {
                    let user = SignedIn.inFirstSlice()
                    for number in first..<min(first + devicesOfUser, count) {
                        _ = try await pushes.register(user, token: String(format: "%04x", number))
                    }
                }
            }
            try await group.waitForAll()
        }
        try await pushes.database.query(
            "UPDATE devices SET apns_accepted_at = now(), live_until = now() + interval '1 day'")
    }

    // MARK: - Sending

    @Test func eachDeviceOfASegmentReceivesThePushOnce() async throws {
        try await TestPushes.with { pushes in
            let devices = try await register(pushes, 60)
            _ = try await pushes.register(SignedIn(), token: "ff", bundle: "com.example.other")
            let (first, second) = (FakePushService(), FakePushService())
            let push = try await pushes.accept(.init(segment: .init())) { $0.collapseId = "news" }
            try await pushes.sendingBulk(through: first) {
                try await pushes.sendingBulk(through: second) { try await isDone(pushes, push) }
            }
            let sent = first.sent + second.sent
            #expect(sent.count == 60 && Set(sent.map(\.id)) == ids(push, devices))
            #expect(sent.allSatisfy { $0.collapseID == "news" && !$0.isUrgent && !$0.isProven })
            let status = try await pushes.status(of: push)
            #expect(status.counts == ["accepted": 60] && status.devices.isEmpty)
            #expect(status.slices == .init(total: 64, done: 64, expired: 0, cancelled: 0, devices: 60))
            #expect(try await pushes.registry.count("push_targets") == 0)
            let unproven = "SELECT count(*) FROM devices WHERE apns_accepted_at IS NULL"
            #expect(try await pushes.database.query("\(unescaped: unproven)")[0].decode(Int.self) == 1)
        }
    }

    /// What Apple does not accept goes on as a target, like that of an addressed push.
    @Test func refusalsAreRepeatedAndRecordedOneByOne() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 6)
            let pushService = FakePushService { push in
                guard case .device(let token) = push.destination else { return .notSent(.noKey) }
                return switch token.bytes[1] {
                case 0: .answered(APNsAnswer(status: 410, reason: "Unregistered", invalidSince: .now + 60))
                case 1: .answered(APNsAnswer(status: 503, reason: "ServiceUnavailable"))
                case 2: .inDoubt
                default: FakePushService.accepted
                }
            }
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.sendingBulk(through: pushService) {
                try await eventually(pushes, push, has: ["accepted": 3, "rejected": 1, "retryAt": 2])
                try await TestKit.eventually("the slices have ended") {
                    try await pushes.status(of: push).slices?.done == 64
                }
            }
            #expect(
                try await pushes.states(of: push) == [
                    "rejected Unregistered", "retryAt ServiceUnavailable", "retryAt noAnswer",
                ])
            // The other sender repeats them.
            try await pushes.makeDue()
            let repeated = FakePushService()
            try await pushes.sending(through: repeated) { try await isDone(pushes, push) }
            #expect(try await pushes.status(of: push).counts == ["accepted": 5, "rejected": 1])
            #expect(Set(repeated.sent.map(\.id)).isSubset(of: pushService.sent.map(\.id)) && repeated.sent.count == 2)
        }
    }

    @Test func aDeadLetterOfASegmentIsReplayed() async throws {
        try await TestPushes.with { pushes in
            let devices = try await register(pushes, 2)
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.sendingBulk(through: .refusing(500, "InternalServerError")) {
                try await eventually(pushes, push, has: ["retryAt": 2])
                try await TestKit.eventually("the slices have ended") {
                    try await pushes.status(of: push).slices?.done == 64
                }
            }
            try await pushes.expire(push)
            try await pushes.sending(through: FakePushService()) {
                try await eventually(pushes, push, has: ["dead": 2])
            }
            let dead = try await pushes.store.dead(of: TestPushes.caller, after: nil).entries
            #expect(Set(dead.map(\.device)) == Set(devices.map(\.id)))
            #expect(try await pushes.store.replay(push, of: TestPushes.caller, until: .now + 3600) == 2)
            try await pushes.sending(through: FakePushService()) {
                try await eventually(pushes, push, has: ["accepted": 2])
            }
        }
    }

    // MARK: - Writes

    /// A device costs no write, if Apple has accepted its token before, and its session goes on.
    @Test func aSegmentCostsWritesForItsSlicesAndPagesAlone() async throws {
        try await TestPushes.with { pushes in
            let devices = 2000
            try await registerProven(pushes, devices)
            try await pushes.database.countRowWrites()
            let pushService = FakePushService()
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.sendingBulk(through: pushService) { try await isDone(pushes, push) }
            #expect(pushService.sent.count == devices)
            #expect(try await pushes.status(of: push).counts == ["accepted": devices])

            let written = try await pushes.database.rowWrites()
            let slices = SegmentRules.sliceCount(registrations: devices)
            // The push once, each slice when it is added and when it is claimed, each page when it ends.
            let expected = 1 + 2 * slices + devices / BulkSender.pageSize
            let total = written.values.reduce(0, +)
            #expect(total == expected, "\(devices) devices in \(slices) slices: \(written)")
            #expect(written["devices"] == nil && written["push_targets"] == nil, "\(written)")

            // The triggers count these tables too, also when they are partitioned.
            try await pushes.database.query("UPDATE devices SET live_until = NULL")
            #expect(try await pushes.database.rowWrites()["devices"] == devices)
        }
    }

    // MARK: - Faults

    /// A replica dies after Apple has received a page. Another one sends the page again, under the same ids, or not.
    @Test(arguments: [PushDoubt.repeat, .drop])
    func aPageInFlightIsInDoubtWhenAReplicaDies(_ onDoubt: PushDoubt) async throws {
        try await TestPushes.with { pushes in
            let devices = try await register(pushes, 5, inFirstSlice: true)
            let push = try await pushes.accept(.init(segment: .init())) { $0.onDoubt = onDoubt }
            let silent = FakePushService.silent()
            try await pushes.sendingBulk(through: silent) {
                try await TestKit.eventually("the page is in flight") { silent.sent.count == 5 }
            }
            #expect(try await pushes.status(of: push).counts.isEmpty)
            let pushService = FakePushService()
            try await pushes.sendingBulk(through: pushService) {
                // The lease lasts.
                try await TestKit.eventually("the other slices have ended") {
                    try await pushes.status(of: push).slices?.done == 63
                }
                #expect(pushService.sent.isEmpty)
                try await pushes.makeSlicesDue()
                try await isDone(pushes, push)
            }
            #expect(Set(pushService.sent.map(\.id)) == (onDoubt == .repeat ? ids(push, devices) : []))
            let counts = try await pushes.status(of: push).counts
            #expect(counts == (onDoubt == .repeat ? ["accepted": 5] : ["inDoubt": 5]))
        }
    }

    /// Nothing is sent in the last second of a lease, nor from a page that is not fresh.
    @Test(arguments: ["lease", "freshness"])
    func aPageIsSentWhileItsLeaseAndItsReadingCount(_ limit: String) async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 3)
            var limits = TestPushes.limits
            if limit == "lease" { limits.lease = limits.leaseMargin } else { limits.freshness = .zero }
            let pushService = FakePushService()
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.sendingBulk(through: pushService, limits: limits) {
                try await TestKit.eventually("the slices without devices have ended") {
                    try await pushes.status(of: push).slices.map { $0.done >= 61 } ?? false
                }
            }
            #expect(pushService.sent.isEmpty)
            #expect(try await pushes.status(of: push).counts.isEmpty)
            try await pushes.makeSlicesDue()
            try await pushes.sendingBulk(through: pushService) { try await isDone(pushes, push) }
            #expect(pushService.sent.count == 3)
        }
    }

    /// An outage between sending and recording.
    @Test func aPageOutlivesAnOutage() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 1)
            let database = pushes.database
            let pushService = FakePushService { _ in
                _ = try? await database.query("ALTER FUNCTION advance_push_slice RENAME TO advance_push_slice_away")
                return FakePushService.accepted
            }
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.sendingBulk(through: pushService) {
                try await TestKit.eventually("it is sent") { pushService.sent.count == 1 }
                try await TestKit.eventually("the function is away, and then back") {
                    (try? await database.query(
                        "ALTER FUNCTION advance_push_slice_away RENAME TO advance_push_slice")) != nil
                }
                try await isDone(pushes, push)
            }
            #expect(pushService.sent.count == 1)
            #expect(try await pushes.status(of: push).counts == ["accepted": 1])
        }
    }

    /// Apple's time of a 410 is one that PostgreSQL refuses. The page is recorded without it.
    @Test(arguments: [9e15, 1e13])
    func aPageWithAnOutcomeThatPostgreSQLRefusesIsRecorded(_ since: Double) async throws {
        try await TestPushes.with { pushes in
            let devices = try await register(pushes, 5, inFirstSlice: true)
            let pushService = FakePushService { push in
                guard push.destination == .device(PushToken(bytes: [0, 2])) else { return FakePushService.accepted }
                let time = Date(timeIntervalSince1970: since)
                return .answered(APNsAnswer(status: 410, reason: "Unregistered", invalidSince: time))
            }
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.sendingBulk(through: pushService) { try await isDone(pushes, push) }
            let status = try await pushes.status(of: push)
            #expect(status.counts == ["accepted": 4, "rejected": 1])
            #expect(status.devices.map(\.device) == [devices[2].id] && status.devices.map(\.reason) == ["notRecorded"])
            #expect(pushService.sent.count == 5)
            #expect(pushes.log.lines.count { $0.contains("cannot be recorded") } == 1)
        }
    }

    /// One device's row is refused whatever it contains. The slice ends without it, and nothing is sent again.
    @Test func aPageWithARowThatPostgreSQLNeverTakesIsRecorded() async throws {
        try await TestPushes.with { pushes in
            let devices = try await register(pushes, 5, inFirstSlice: true)
            try await pushes.database.query(
                "ALTER TABLE push_targets ADD CHECK (device_id <> '\(unescaped: "\(devices[2].id)")')")
            let pushService = FakePushService { push in
                guard push.destination == .device(PushToken(bytes: [0, 2])) else { return FakePushService.accepted }
                return .answered(APNsAnswer(status: 400, reason: "BadDeviceToken"))
            }
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.sendingBulk(through: pushService) { try await isDone(pushes, push) }
            #expect(try await pushes.status(of: push).counts == ["accepted": 4])
            #expect(pushService.sent.count == 5)
            #expect(pushes.log.lines.count { $0.contains("cannot be recorded") } == 2)
        }
    }

    /// PostgreSQL has claimed the page, and the link breaks before its answer comes. Nothing was sent, so that nothing
    /// is in doubt.
    @Test func aPageWhoseAnswerIsLostIsGivenBack() async throws {
        try await TestPushes.with { pushes, url in
            try await register(pushes, 3, inFirstSlice: true)
            let push = try await pushes.accept(.init(segment: .init())) { $0.onDoubt = .drop }
            let first = try #require(try await pushes.slices.due().first { $0.number == 0 })
            try await TestPushes.withLink(to: url, connections: 1) { proxy, pool in
                let slices = PushStore(database: pool, unseen: TestPushes.unseen, logger: .quiet).slices
                proxy.cut(afterBytesFromServer: 1)
                let id = UUID()
                let error = await #expect(throws: PostgresError.self) {
                    try await slices.claim(first, as: id, lease: .seconds(3600), most: 500)
                }
                #expect(error?.mayHaveClaimed == true)
                try await TestKit.eventually("the page is claimed") {
                    try await pushes.database.query("SELECT page_devices FROM push_slices WHERE slice = 0")[0]
                        .decode(Int?.self) == 3
                }
                #expect(try await pushes.queue.release(.slice(first, id: UUID())) == 0)
                pushes.activity.window.lose(LostClaim(.slice(first, id: id), lostUntil: .now + .seconds(3600)))
            }
            let pushService = FakePushService()
            try await pushes.sending(through: FakePushService()) {
                try await pushes.sendingBulk(through: pushService) { try await isDone(pushes, push) }
            }
            #expect(pushService.sent.count == 3)
            #expect(try await pushes.status(of: push).counts == ["accepted": 3])
        }
    }

    /// The sender's own statement, not a test's.
    @Test func aSenderGivesItsLostPageBack() async throws {
        try await TestPushes.with { pushes, url in
            try await register(pushes, 3, inFirstSlice: true)
            let push = try await pushes.accept(.init(segment: .init())) { $0.onDoubt = .drop }
            // The other slices have no device.
            try await pushes.database.query("UPDATE push_slices SET state = 'done' WHERE slice > 0")
            try await TestPushes.withLink(to: url) { proxy, pool in
                let slices = PushStore(database: pool, unseen: TestPushes.unseen, logger: .quiet).slices
                let pushService = FakePushService()
                pushes.activity.feedWasRead()
                try await pushes.gate("push_slices") { open in
                    let sender = pushes.bulkSender(pushService, slices: slices)
                    let task = Task { await sender.run() }
                    try await TestKit.eventually("the claim runs") {
                        try await pushes.database.lockWaiters(running: "advance_push_slice").count >= 1
                    }
                    proxy.silenceConnections()
                    try await open()
                    try await TestKit.eventually("the page is claimed") {
                        try await pushes.database.query("SELECT page_devices FROM push_slices WHERE slice = 0")[0]
                            .decode(Int?.self) == 3
                    }
                    proxy.sever()
                    proxy.join()
                    try await pushes.sending(through: FakePushService()) { try await isDone(pushes, push) }
                    task.cancel()
                    await task.value
                }
                #expect(pushService.sent.count == 3)
                #expect(try await pushes.status(of: push).counts == ["accepted": 3])
            }
        }
    }

    /// The segment is not turned into rows while nothing can be sent.
    @Test func withoutAPushServiceSlicesWait() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 8)
            let pushService = FakePushService { _ in .notSent(.noKey) }
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.sendingBulk(through: pushService) {
                try await TestKit.eventually("each device was tried once") { pushService.sent.count == 8 }
                try await TestKit.eventually("the pages are put back, and the other slices have ended") {
                    try await pushes.database.query(
                        """
                        SELECT count(*) FROM push_slices
                        WHERE state = 'open' AND (page_bucket IS NOT NULL OR due_at <= now())
                        """
                    )[0].decode(Int.self) == 0
                }
            }
            #expect(try await pushes.registry.count("push_targets") == 0)
            let waits = try await pushes.database.query(
                "SELECT extract(epoch FROM due_at - now())::float8 FROM push_slices WHERE state = 'open'"
            ).decode(Double.self)
            #expect(!waits.isEmpty && waits.allSatisfy { $0 > 30 && $0 <= 60 })
            try await pushes.makeSlicesDue()
            try await pushes.sendingBulk(through: FakePushService()) { try await isDone(pushes, push) }
        }
    }

    // MARK: - Order

    @Test func bulkPushesYieldToOthers() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 3)
            let pushService = FakePushService()
            let push = try await pushes.accept(.init(segment: .init()))
            // The queue of named targets is longer than what may be in flight.
            let gate = FakePushService.silent()
            var limits = TestPushes.limits
            limits.concurrency = 1
            let user = SignedIn()
            for number in 10..<14 { _ = try await pushes.register(user, token: String(format: "%04x", number)) }
            _ = try await pushes.accept(.init(users: [user.id]))
            try await pushes.sending(through: gate, limits: limits) {
                try await TestKit.eventually("one is in flight, and others wait") { gate.sent.count == 1 }
                try await TestKit.eventually("they have priority") { pushes.activity.hasPriority }
                try await pushes.sendingBulk(through: pushService) {
                    pushes.activity.wake()
                    #expect(try await pushes.slices.due().count == 8)
                    #expect(pushService.sent.isEmpty)
                    // A replica without others in its queue.
                    pushes.activity.setPriority(false)
                    try await isDone(pushes, push)
                }
            }
            #expect(pushService.sent.count == 7)
        }
    }

    /// A large push does not delay a small one of another caller.
    @Test func pushesOfCallersTakeTurns() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 8)
            let pushIDs = [
                try await pushes.accept(.init(segment: .init()), of: "news"),
                try await pushes.accept(.init(segment: .init())),
            ]
            func open() async throws -> [Int] {
                try await pushes.database.query(
                    """
                    SELECT count(*) FILTER (WHERE state = 'open') FROM push_slices WHERE push_id = ANY (\(pushIDs))
                    GROUP BY push_id
                    """
                ).decode(Int.self)
            }
            try await pushes.sendingBulk(through: FakePushService()) {
                try await TestKit.eventually("one of them has ended") { try await open().contains(0) }
                // The other one has had about as many turns.
                #expect(try await open().allSatisfy { $0 <= 32 })
            }
        }
    }

    @Test func nothingIsSentWithoutTheRevocationFeed() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 2)
            let pushService = FakePushService()
            let push = try await pushes.accept(.init(segment: .init()))
            let sender = pushes.bulkSender(pushService)
            let task = Task { await sender.run() }
            pushes.activity.wake()
            #expect(try await pushes.status(of: push).slices?.done == 0)
            #expect(pushService.sent.isEmpty)
            pushes.activity.feedWasRead()
            try await isDone(pushes, push)
            task.cancel()
            await task.value
        }
    }

    /// A session that ended by its lifetime, which no revocation says: tokens says so, once.
    @Test func sessionsAreCheckedOnceInTheirLifetime() async throws {
        try await TestPushes.with { pushes in
            let (ada, bob) = (SignedIn(), SignedIn())
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.register(bob, token: "bb")
            pushes.sessions.state.withLock { _ = $0.ended.insert(bob.session) }
            for _ in 0..<2 {
                let push = try await pushes.accept(.init(segment: .init()))
                try await pushes.sendingBulk(through: FakePushService()) { try await isDone(pushes, push) }
                #expect(try await pushes.status(of: push).counts == ["accepted": 1, "suppressed": 1])
            }
            #expect(pushes.sessions.asked.count { $0.contains(ada.session) } == 1)
        }
    }

    /// The owner and the session as of the reading decide.
    @Test func anEndedSessionReceivesNothing() async throws {
        try await TestPushes.with { pushes in
            let ada = SignedIn()
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.register(SignedIn(), token: "bb")
            let push = try await pushes.accept(.init(segment: .init()))
            let page = RevocationPage(
                entries: [
                    .init(
                        sessionID: ada.session, userID: ada.id, revokedAt: .now, accessExpiresAt: .now + 3600,
                        reason: .logout)
                ], cursor: "1", reset: false, more: false)
            #expect(try await RevokedSessionStore(database: pushes.database).apply(page, after: nil) == 1)
            try await pushes.registry.own(DeviceStoreTests.registration(token: "bb"), by: UUID())
            let pushService = FakePushService()
            try await pushes.sendingBulk(through: pushService) { try await isDone(pushes, push) }
            #expect(pushService.sent.isEmpty)
            #expect(try await pushes.states(of: push) == ["suppressed sessionEnded"])
        }
    }
}

extension PostgresPool {
    /// Makes triggers that count each row that is written from now on.
    fileprivate func countRowWrites() async throws {
        try await query("CREATE TABLE row_writes (table_name text NOT NULL)")
        try await query(
            """
            CREATE FUNCTION count_row_write() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO row_writes (table_name) VALUES (TG_ARGV[0]);
                RETURN NULL;
            END
            $$
            """)
        // A trigger of a partitioned table runs with the name of the partition, so the argument names the table.
        try await query(
            """
            DO $$
            DECLARE
                name text;
            BEGIN
                FOR name IN
                    SELECT relname FROM pg_class
                    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
                      AND NOT relispartition AND relname <> 'row_writes'
                LOOP
                    EXECUTE format(
                        'CREATE TRIGGER count_row_write AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW '
                            'EXECUTE FUNCTION count_row_write(%L)', name, name);
                END LOOP;
            END
            $$
            """)
    }

    /// The rows that were written since ``countRowWrites()``, by table.
    fileprivate func rowWrites() async throws -> [String: Int] {
        let counts = try await query("SELECT table_name, count(*) FROM row_writes GROUP BY table_name")
        return Dictionary(uniqueKeysWithValues: try counts.decode((String, Int).self))
    }
}
