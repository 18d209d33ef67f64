import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

@Suite struct PushStoreTests {
    let ada = SignedIn()
    let bob = SignedIn()

    @Test func aPushIsForTheDevicesOfItsApp() async throws {
        try await TestPushes.with { pushes in
            let phone = try await pushes.register(ada, token: "aa")
            let pad = try await pushes.register(SignedIn(id: ada.id), token: "bb")
            _ = try await pushes.register(ada, token: "cc", bundle: "com.example.other")
            _ = try await pushes.register(ada, token: "dd", kind: .voip)
            let theirs = try await pushes.register(bob, token: "ee")
            let all = try await pushes.accept(.init(users: [ada.id, bob.id]))
            let status = try await pushes.status(of: all)
            #expect(Set(status.devices.map(\.device)) == [phone.id, pad.id, theirs.id])
            #expect(status.counts == ["queued": 3] && status.state == .sending && status.next == nil)
            let session = try await pushes.accept(.init(sessions: [ada.session]))
            #expect(try await pushes.status(of: session).devices.map(\.device) == [phone.id])
            let production = try await pushes.accept(.init(users: [ada.id])) { $0.environment = .production }
            #expect(try await pushes.status(of: production).state == .done)
        }
    }

    @Test func aPushOfALiveActivityIsForItsTokens() async throws {
        try await TestPushes.with { pushes in
            let order = try await pushes.register(
                ada, token: "01", kind: .liveactivity, activity: "order-7", attributesType: "Delivery")
            let other = try await pushes.register(
                ada, token: "02", kind: .liveactivity, activity: "order-8", attributesType: "Delivery")
            let start = try await pushes.register(ada, token: "03", kind: .pushtostart, attributesType: "Delivery")
            _ = try await pushes.register(ada, token: "04", kind: .pushtostart, attributesType: "Match")
            _ = try await pushes.register(ada, token: "05")
            func devices(_ aps: [String: String], of activity: String? = nil) async throws -> Set<UUID> {
                let push = try await pushes.accept(.init(users: [ada.id], activity: activity)) {
                    $0.pushType = .liveactivity
                    let texts = aps.map { (VerbatimString($0.key), JSONValue.string($0.value)) }
                    $0.payload = .object(["aps": .object(["timestamp": .integer(1)].merging(texts) { $1 })])
                }
                return Set(try await pushes.status(of: push).devices.map(\.device))
            }
            #expect(try await devices(["event": "update"]) == [order.id, other.id])
            #expect(try await devices(["event": "end"], of: "order-7") == [order.id])
            let new = ["event": "start", "attributes-type": "Delivery", "input-push-token": "1"]
            #expect(try await devices(new) == [start.id])
        }
    }

    @Test func theNewestPushesThatAUserDidNotReceiveAreListed() async throws {
        try await TestPushes.with { pushes in
            let phone = try await pushes.register(ada, token: "aa")
            _ = try await pushes.register(bob, token: "bb")
            let (waiting, accepted) = (
                try await pushes.accept(.init(users: [ada.id])), try await pushes.accept(.init(users: [ada.id]))
            )
            try await pushes.database.query(
                "UPDATE push_targets SET state = 'accepted', due_at = NULL WHERE push_id = \(accepted)")
            #expect(try await pushes.store.undelivered(to: ada.id).entries == [])
            try await pushes.database.query(
                """
                UPDATE push_targets SET state = 'rejected', reason = 'Unregistered', due_at = NULL, attempts = 1
                WHERE push_id = \(waiting)
                """)
            let gone = UUID()
            _ = try await pushes.accept(.init(devices: [.init(user: ada.id, device: gone)]))
            _ = try await pushes.accept(.init(devices: [.init(user: bob.id, device: gone)]))
            let entries = try await pushes.store.undelivered(to: ada.id).entries
            #expect(entries.map(\.device) == [gone, phone.id] && entries.map(\.state) == [.suppressed, .rejected])
            #expect(entries.map(\.reason) == ["noDevice", "Unregistered"] && entries.map(\.attempts) == [0, 1])
            #expect(entries.allSatisfy { $0.bundleId == TestPushes.app && $0.pushType == "alert" })
            // The pushes are purged apart from their targets.
            try await pushes.database.query("DELETE FROM pushes")
            #expect(try await pushes.store.undelivered(to: ada.id).entries.map(\.bundleId) == [nil, nil])
            // Devices that a caller invents push no failure out.
            for _ in 0..<60 { _ = try await pushes.accept(.init(devices: [.init(user: ada.id, device: UUID())])) }
            var newest = try await pushes.store.undelivered(to: ada.id).entries
            #expect(newest.count == 11 && newest.last?.device == phone.id)
            #expect(newest.prefix(10).allSatisfy { $0.reason == "noDevice" && $0.device != gone })
            for _ in 0..<60 { _ = try await pushes.accept(.init(users: [ada.id])) }
            try await pushes.database.query(
                "UPDATE push_targets SET state = 'rejected', due_at = NULL WHERE state = 'queued'")
            newest = try await pushes.store.undelivered(to: ada.id).entries
            #expect(newest.count == 50 && newest.allSatisfy { $0.device == phone.id })
            try await pushes.registry.erase(user: ada.id)
            #expect(try await pushes.store.undelivered(to: ada.id).entries == [])
        }
    }

    /// And in its order. Without the setting PostgreSQL reads a table of which it knows that it is empty.
    @Test func thePushesThatAUserDidNotReceiveAreFoundByAnIndex() async throws {
        try await TestPushes.with { pushes in
            let plans = try await pushes.database.withTransaction { transaction in
                try await transaction.query("SET LOCAL enable_seqscan = off")
                var plans: [String] = []
                for condition in ["state <> 'accepted' AND reason IS DISTINCT FROM 'noDevice'", "reason = 'noDevice'"] {
                    plans.append(
                        try await transaction.query(
                            """
                            EXPLAIN SELECT push_id FROM push_targets
                            WHERE bucket = \(Bucket(user: ada.id).rawValue) AND user_id = \(ada.id) AND due_at IS NULL
                              AND \(unescaped: condition)
                            ORDER BY updated_at DESC LIMIT 50
                            """
                        ).decode(String.self).joined(separator: "\n"))
                }
                return plans
            }
            for (plan, name) in zip(plans, ["failed", "unknown"]) {
                // PostgreSQL numbers the second index of the same columns of a partition.
                let isFound = plan.contains("push_targets_\(name)") || plan.contains(/bucket_user_id_updated_at_idx\d*/)
                #expect(plan.contains("Index Scan Backward") && isFound, "\(plan)")
                #expect(!plan.contains("Sort"), "\(plan)")
            }
        }
    }

    @Test func aDeviceThatIsNamedTwiceReceivesOnce() async throws {
        try await TestPushes.with { pushes in
            let phone = try await pushes.register(ada, token: "aa")
            let acceptance = try await pushes.store.accept(
                TestPushes.valid(
                    .init(
                        users: [ada.id, ada.id], sessions: [ada.session],
                        devices: [.init(user: ada.id, device: phone.id)])),
                of: "orders", key: "k", hash: Data(count: 32))
            guard case .accepted(let answer, true) = acceptance else {
                Issue.record("not accepted")
                return
            }
            #expect(answer.devices == 1)
        }
    }

    /// Also another user's device, so that a caller cannot find out whose it is.
    @Test func aNamedDeviceThatIsNotThereIsSuppressed() async throws {
        try await TestPushes.with { pushes in
            let phone = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(
                .init(devices: [.init(user: bob.id, device: phone.id), .init(user: ada.id, device: UUID())]))
            #expect(try await pushes.states(of: push) == ["suppressed noDevice", "suppressed noDevice"])
            #expect(try await pushes.status(of: push).state == .done)
        }
    }

    // MARK: - Idempotency

    @Test func repeatedRequestsAtOnceAreOne() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try TestPushes.valid(.init(users: [ada.id]))
            let answers = try await withThrowingTaskGroup(of: PushStore.Acceptance.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await pushes.store.accept(push, of: "orders", key: "key", hash: Data(count: 32))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            var ids: Set<String?> = []
            var new = 0
            for case .accepted(let answer, let isNew) in answers {
                ids.insert(answer.id)
                new += isNew ? 1 : 0
                #expect(answer.devices == 1)
            }
            #expect(answers.count == 20 && ids.count == 1 && new == 1)
            #expect(try await pushes.registry.count("pushes") == 1)
        }
    }

    @Test func aKeyIsForOneRequestOfOneCallerADay() async throws {
        try await TestPushes.with { pushes in
            let push = try TestPushes.valid(.init(users: [ada.id]))
            func accept(_ caller: String, hash: UInt8) async throws -> String? {
                let acceptance = try await pushes.store.accept(
                    push, of: caller, key: "key", hash: Data(repeating: hash, count: 32))
                guard case .accepted(let answer, _) = acceptance else { return nil }
                return answer.id
            }
            let first = try await accept("orders", hash: 1)
            #expect(first != nil)
            #expect(try await accept("orders", hash: 1) == first)
            #expect(try await accept("orders", hash: 2) == nil)
            let other = try await accept("chat", hash: 2)
            #expect(other != nil && other != first)
            try await pushes.database.query("UPDATE pushes SET created_at = now() - interval '25 hours'")
            let later = try await accept("orders", hash: 2)
            #expect(later != nil && later != first)
            #expect(try await accept("orders", hash: 1) == nil)
        }
    }

    // MARK: - Callers and pages

    @Test func aCallerSeesItsOwnPushesOnly() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            #expect(try await pushes.store.status(of: push, of: "chat", after: nil) == nil)
            #expect(try await !pushes.store.cancel(push, of: "chat"))
            #expect(try await pushes.store.replay(push, of: "chat", until: .now + 60) == nil)
            #expect(try await pushes.states(of: push) == ["queued"])
        }
    }

    @Test func allDevicesOfAPushAreListedPageByPage() async throws {
        try await TestPushes.with { pushes in
            let users = (0..<30).map { _ in SignedIn() }
            for (number, user) in users.enumerated() {
                for device in 0..<4 {
                    _ = try await pushes.register(user, token: String(format: "%04x%02x", number, device))
                }
            }
            let push = try await pushes.accept(.init(users: users.map(\.id)))
            var seen: [UUID] = []
            var cursor: TargetCursor?
            repeat {
                let page = try #require(try await pushes.store.status(of: push, of: "orders", after: cursor))
                #expect(page.devices.count <= PushStore.pageSize && page.counts == ["queued": 120])
                seen += page.devices.map(\.device)
                cursor = page.next.flatMap(TargetCursor.init(text:))
                #expect((page.next == nil) == (cursor == nil))
            } while cursor != nil
            #expect(seen.count == 120 && Set(seen).count == 120)
        }
    }

    // MARK: - Cancelling

    @Test func whatIsNotSentYetIsCancelled() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let scheduled = try await pushes.accept(.init(users: [ada.id])) { $0.sendAt = .now + 3600 }
            for id in [push, scheduled] {
                #expect(try await pushes.store.cancel(id, of: TestPushes.caller))
                #expect(try await pushes.status(of: id).state == .cancelled)
            }
            #expect(try await pushes.states(of: push) == ["cancelled"])
        }
    }

    /// Nothing of it was cancelled.
    @Test func aPushThatIsDoneStaysDone() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let sent = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.sending(through: FakePushService()) { try await pushes.eventually(sent, is: "accepted") }
            let nobodys = try await pushes.accept(.init(users: [UUID()]))
            for id in [sent, nobodys] {
                #expect(try await pushes.store.cancel(id, of: TestPushes.caller))
                #expect(try await pushes.status(of: id).state == .done)
            }
            #expect(try await pushes.states(of: sent) == ["accepted"])
        }
    }

    // MARK: - Retention

    @Test func outcomesArePurgedAWeekAfterTheExpiration() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let expired = ExpiredRegistrationStore(database: pushes.database, unseen: TestPushes.unseen)
            func purge() async throws -> [Int] {
                [
                    try await expired.purge(.targets, in: Bucket(user: ada.id)),
                    try await expired.purge(.pushes, in: Bucket(user: bob.id)),
                ]
            }
            _ = try await pushes.accept(.init(users: [ada.id]))
            #expect(try await purge() == [0, 0])
            for (days, removed) in [(7, [0, 0]), (8, [1, 0]), (9, [0, 1])] {
                for table in ["pushes", "push_targets"] {
                    try await pushes.database.query(
                        "UPDATE \(unescaped: table) SET day = current_date - \(Int32(days))")
                }
                #expect(try await purge() == removed, "\(days)")
            }
        }
    }

    @Test func countsArePurgedAWeekLater() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.accept(.init(users: [ada.id]))
            _ = try await pushes.queue.capped(try await pushes.claims().map { ($0, 1) })
            let expired = ExpiredRegistrationStore(database: pushes.database, unseen: TestPushes.unseen)
            for (days, removed) in [(7, 0), (8, 1)] {
                try await pushes.database.query("UPDATE push_user_days SET day = current_date - \(Int32(days))")
                #expect(try await expired.purge(.counts, in: Bucket(user: ada.id)) == removed)
            }
        }
    }

    @Test func anErasedUsersOutcomesGo() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.register(bob, token: "bb")
            let push = try await pushes.accept(.init(users: [ada.id, bob.id]))
            _ = try await pushes.queue.capped(try await pushes.claims().map { ($0, 1) })
            try await pushes.registry.erase(user: ada.id)
            #expect(try await pushes.counts(of: ada).isEmpty)
            #expect(try await pushes.counts(of: bob) == [1])
            #expect(try await pushes.status(of: push).devices.map(\.user) == [bob.id])
        }
    }

    /// A bucket's targets are read a page at a time.
    @Test func aUsersTargetsAreErasedPageByPage() async throws {
        try await TestPushes.with { pushes in
            let bucket = Bucket(user: ada.id)
            try await pushes.database.query(
                """
                INSERT INTO push_targets (bucket, push_id, device_id, user_id, caller, urgency, state, day)
                SELECT \(bucket.rawValue), gen_random_uuid(), gen_random_uuid(),
                    CASE WHEN n % 2 = 0 THEN \(ada.id) ELSE \(bob.id) END, 'orders', 'normal', 'accepted', current_date
                FROM generate_series(1, 25) AS n
                """)
            var position: (UUID, UUID)? = (PushStore.zero, PushStore.zero)
            var pages = 0
            while let (push, device) = position {
                pages += 1
                let next = try await pushes.database.query(
                    """
                    SELECT next_push, next_device
                    FROM erase_push_targets(\(bucket.rawValue), \(ada.id), \(push), \(device), 10)
                    """
                )[0].decode((UUID?, UUID?).self)
                position = next.0.flatMap { push in next.1.map { (push, $0) } }
            }
            #expect(pages == 3)
            let users = try await pushes.database.query("SELECT user_id FROM push_targets").decode(UUID.self)
            #expect(users.count == 13 && Set(users) == [bob.id])
        }
    }
}
