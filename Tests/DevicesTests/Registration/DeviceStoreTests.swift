import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceLifecycle
import TestKit
import Testing

@testable import DevicesService

@Suite struct DeviceStoreTests {
    static let timeZones = TimeZoneDatabase(["UTC"])

    static func registration(
        token: String = "aabb", environment: PushEnvironment = .sandbox, bundle: String = "com.example.app",
        installation: String? = nil, kind: PushKind = .alert, activity: String? = nil, attributesType: String? = nil,
        locale: String? = nil, timeZone: String? = nil, model: String? = nil,
        alertsAllowed: Bool? = nil
    ) throws -> ValidRegistration {
        try ValidRegistration(
            Registration(
                token: token, environment: environment, bundleId: bundle, installationId: installation, kind: kind,
                activity: activity, attributesType: attributesType, locale: locale, timeZone: timeZone, model: model,
                alertsAllowed: alertsAllowed),
            timeZones: timeZones)
    }

    static func withStore(_ body: (TestRegistry) async throws -> Void) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            try await body(TestRegistry(database.pool))
        }
    }

    let ada = UUID()
    let bob = UUID()
    let session: UUID

    init() { session = .session(of: ada) }

    @Test func aRegistrationIsKeptAndListed() async throws {
        try await Self.withStore { store in
            let registration = try ValidRegistration(
                Registration(
                    token: "AABB", environment: .production, bundleId: "com.example.app", installationId: "phone",
                    kind: .voip, locale: "en-GB", timeZone: "UTC", appVersion: "1", osVersion: "2", model: "3",
                    alertsAllowed: false),
                timeZones: Self.timeZones)
            let device = try #require(try await store.register(registration, user: ada, session: session))
            let kept = try await store.devices(of: ada)
            #expect(
                kept == [
                    DeviceExport.Entry(
                        id: device.id, installationId: "phone", environment: .production, bundleId: "com.example.app",
                        kind: .voip, status: .active, locale: "en-GB", timeZone: "UTC", appVersion: "1",
                        osVersion: "2", model: "3", alertsAllowed: false, sessionId: session,
                        createdAt: device.createdAt,
                        updatedAt: device.updatedAt)
                ])
            #expect(try await store.devices(of: bob).isEmpty)
        }
    }

    @Test func registeringAgainRenews() async throws {
        try await Self.withStore { store in
            let first = try #require(try await store.register(Self.registration(), user: ada, session: session))
            let again = try #require(
                try await store.register(Self.registration(model: "new"), user: ada, session: .session(of: ada)))
            #expect(again.id == first.id)
            #expect(again.createdAt == first.createdAt)
            #expect(again.updatedAt > first.updatedAt)
            let kept = try await store.devices(of: ada)
            #expect(kept.map(\.model) == ["new"])
            #expect(kept.map(\.sessionId) != [session])
        }
    }

    /// Apps register at every start. What has not changed is written later, for many devices in one statement.
    @Test func registeringTheSameAgainWritesLaterWhenItWasSeen() async throws {
        try await Self.withStore { registry in
            let lastSeen = LastSeenWriter(database: registry.database, logger: .quiet)
            let store = RegistrationStore(
                database: registry.database, protection: registry.protection, lastSeen: lastSeen)
            func rows() async throws -> [String] {
                // `xmax` too: a row that was only locked would have cost a write.
                try await registry.database.query("SELECT xmin::text || ' ' || xmax::text FROM devices ORDER BY id")
                    .decode(String.self)
            }
            func register(
                _ phone: String, model: String? = nil, session: UUID? = nil, alertsAllowed: Bool? = nil
            ) async throws -> Device {
                let registration = try Self.registration(
                    token: phone, installation: phone, model: model, alertsAllowed: alertsAllowed)
                return try #require(
                    try await store.register(registration, user: ada, session: session ?? self.session))
            }
            _ = try await register("aa")
            _ = try await register("bb")
            try await registry.database.query("UPDATE devices SET last_seen_at = now() - interval '1 hour'")
            let written = try await rows()
            let phone = try await register("aa")
            let tablet = try await register("bb")
            #expect(phone.updatedAt > .now - 1800)
            #expect(try await rows() == written)
            try await lastSeen.flush()
            #expect(Set(try await registry.devices(of: ada).map(\.updatedAt)) == [phone.updatedAt, tablet.updatedAt])
            // Any change is written at once.
            var last = try await rows()
            let other = UUID.session(of: ada)
            for change in [
                ("2", nil, nil), ("2", other, nil), ("2", other, true), ("2", other, false), ("2", other, nil),
            ] as [(String?, UUID?, Bool?)] {
                let device = try await register(
                    "aa", model: change.0, session: change.1, alertsAllowed: change.2)
                #expect(try await rows() != last)
                #expect(device.alertsAllowed == change.2)
                #expect(try await registry.devices(of: ada).first?.alertsAllowed == change.2)
                last = try await rows()
                _ = try await register("aa", model: change.0, session: change.1, alertsAllowed: change.2)
                #expect(try await rows() == last)
            }
        }
    }

    /// The service writes soon, and what it could not write later.
    @Test func whenADeviceWasSeenIsWrittenByTheService() async throws {
        try await Self.withStore { registry in
            let device = try #require(try await registry.register(Self.registration(), user: ada, session: session))
            let writer = LastSeenWriter(database: registry.database, logger: .quiet)
            let (first, second) = (device.updatedAt + 60, device.updatedAt + 120)
            func isWritten(_ time: Date) async throws -> Bool {
                let seenAt = try #require(try await registry.devices(of: ada).first).updatedAt
                return abs(seenAt.timeIntervalSince(time)) < 0.001
            }
            try await registry.database.withTransaction { transaction in
                try await transaction.query("SELECT id FROM devices FOR UPDATE")
                writer.note(device.id, in: Bucket(user: ada), at: second)
                async let flushed: Void = writer.flush()
                try await registry.database.cancelLockWaiter(running: "see_device")
                do {
                    try await flushed
                    Issue.record("the statement was cancelled")
                } catch {
                    #expect(error is PostgresError)
                }
            }
            // An earlier time does not replace it.
            writer.note(device.id, in: Bucket(user: ada), at: first)
            let task = Task { await writer.run() }
            try await eventually("it is written") { try await isWritten(second) }
            task.cancel()
            await task.value
        }
    }

    /// The writer's last statement has the devices that requests have noted until then.
    @Test func whenADeviceWasSeenIsWrittenAtAShutdown() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let registry = TestRegistry(database.pool)
            let device = try #require(try await registry.register(Self.registration(), user: ada, session: session))
            let pool = PostgresPool(configuration: try .patient(database.url), pool: .patient)
            let writer = LastSeenWriter(database: pool, logger: .quiet)
            writer.note(device.id, in: Bucket(user: ada), at: device.updatedAt + 60)
            // The last one stops first, as in `DevicesApplication`.
            let services = ServiceGroup(services: [pool, StoppingWriter(writer: writer)], logger: .quiet)
            await services.triggerGracefulShutdown()
            try await services.run()
            let seenAt = try #require(try await registry.devices(of: ada).first).updatedAt
            #expect(abs(seenAt.timeIntervalSince(device.updatedAt) - 60) < 0.001)
        }
    }

    /// A device that is seen again costs a heap-only update.
    @Test func noIndexHoldsWhenADeviceWasSeen() async throws {
        try await Self.withStore { store in
            let indexes = try await store.database.query(
                "SELECT indexdef FROM pg_indexes WHERE tablename IN ('devices', 'push_token_owners')"
            ).decode(String.self)
            #expect(indexes.count == 8)
            #expect(!indexes.contains { $0.contains("last_seen_at") || $0.contains("claimed_at") })
        }
    }

    /// Nothing was written, but what a revocation has taken away is not answered as if it were there.
    @Test func registeringTheSameAgainWithARevokedSessionIsRefused() async throws {
        try await Self.withStore { store in
            _ = try await store.register(Self.registration(), user: ada, session: session)
            let entry = RevocationPage.Entry(
                sessionID: session, userID: ada, revokedAt: .now, accessExpiresAt: .now + 3600, reason: .logout)
            let page = RevocationPage(entries: [entry], cursor: "1", reset: false, more: false)
            #expect(try await RevokedSessionStore(database: store.database).apply(page, after: nil) == 1)
            #expect(try await store.register(Self.registration(), user: ada, session: session) == nil)
        }
    }

    @Test func registeringAgainRevivesAnInvalidDevice() async throws {
        try await Self.withStore { store in
            _ = try await store.register(Self.registration(), user: ada, session: session)
            try await store.database.query("UPDATE devices SET status = 'invalid', status_reason = 'Unregistered'")
            #expect(try await store.devices(of: ada).map(\.status) == [.invalid])
            _ = try await store.register(Self.registration(), user: ada, session: session)
            #expect(try await store.devices(of: ada).map(\.status) == [.active])
            let reasons = try await store.database.query("SELECT status_reason FROM devices").decode(String?.self)
            #expect(reasons == [nil])
        }
    }

    @Test func theLastRegistrantOfATokenWins() async throws {
        try await Self.withStore { store in
            let old = try #require(try await store.register(Self.registration(), user: ada, session: session))
            let new = try #require(try await store.register(Self.registration(), user: bob, session: .session(of: bob)))
            #expect(new.id != old.id)
            #expect(new.createdAt > old.createdAt)
            #expect(try await store.devices(of: ada).isEmpty)
            #expect(try await store.devices(of: bob).map(\.id) == [new.id])
            #expect(try await store.remove(old.id, of: ada) == false)
        }
    }

    @Test func tokensOfOtherEnvironmentsAppsAndKindsAreOthers() async throws {
        try await Self.withStore { store in
            for registration in try [
                Self.registration(), Self.registration(environment: .production), Self.registration(bundle: "other"),
                Self.registration(kind: .voip),
            ] {
                _ = try await store.register(registration, user: ada, session: session)
            }
            #expect(try await store.devices(of: ada).count == 4)
        }
    }

    @Test func aNewTokenReplacesTheInstallationsOld() async throws {
        try await Self.withStore { store in
            let old = try #require(
                try await store.register(Self.registration(installation: "phone"), user: ada, session: session))
            _ = try await store.register(
                Self.registration(token: "01", installation: "tablet"), user: ada, session: session)
            let new = try #require(
                try await store.register(
                    Self.registration(token: "02", installation: "phone"), user: ada, session: session))
            #expect(new.id == old.id)
            #expect(new.createdAt == old.createdAt)
            #expect(try await Set(store.tokens().map(\.bytes)) == [[1], [2]])
        }
    }

    @Test("An installation replaces its token by another's: it keeps its id, and the other has no token")
    func takeoverOfAToken() async throws {
        try await Self.withStore { store in
            let own = try #require(
                try await store.register(Self.registration(installation: "phone"), user: ada, session: session))
            _ = try await store.register(
                Self.registration(token: "02", installation: "x"), user: bob, session: .session(of: bob))
            let both = try #require(
                try await store.register(
                    Self.registration(token: "02", installation: "phone"), user: ada, session: session))
            #expect(both.id == own.id)
            #expect(try await store.devices(of: bob).isEmpty)
            #expect(try await store.devices(of: ada).count == 1)
            // The same among devices of one user.
            _ = try await store.register(
                Self.registration(token: "03", installation: "tablet"), user: ada, session: session)
            let merged = try #require(
                try await store.register(
                    Self.registration(token: "03", installation: "phone"), user: ada, session: session))
            #expect(try await store.devices(of: ada).map(\.id) == [merged.id])
        }
    }

    @Test func liveActivitiesOfOneInstallationStandSideBySide() async throws {
        try await Self.withStore { store in
            for token in ["01", "02", "03"] {
                let registration = try Self.registration(token: token, installation: "phone", kind: .liveactivity)
                _ = try await store.register(registration, user: ada, session: session)
            }
            #expect(try await store.devices(of: ada).count == 3)
        }
    }

    @Test("An installation registers a Live Activity again: the new token replaces that of the activity or the type")
    func tokensOfLiveActivities() async throws {
        try await Self.withStore { store in
            func register(_ token: String, _ kind: PushKind, _ activity: String?, _ type: String?) async throws -> UUID?
            {
                let registration = try Self.registration(
                    token: token, installation: "phone", kind: kind, activity: activity, attributesType: type)
                return try await store.register(registration, user: ada, session: session)?.id
            }
            let order = try await register("01", .liveactivity, "order-1", "Delivery")
            _ = try await register("02", .liveactivity, "order-2", "Delivery")
            let start = try await register("03", .pushtostart, nil, "Delivery")
            _ = try await register("04", .pushtostart, nil, "Match")
            // New tokens keep the ids of those that they replace.
            #expect(try await register("05", .liveactivity, "order-1", "Delivery") == order)
            #expect(try await register("06", .pushtostart, nil, "Delivery") == start)
            let kept = Set(try await store.devices(of: ada).map { [$0.kind.rawValue, $0.activity, $0.attributesType] })
            #expect(
                kept == [
                    ["liveactivity", "order-1", "Delivery"], ["liveactivity", "order-2", "Delivery"],
                    ["pushtostart", nil, "Delivery"], ["pushtostart", nil, "Match"],
                ])
            #expect(Set(try await store.tokens().map(\.bytes)) == [[2], [4], [5], [6]])
            // The same token for another activity.
            #expect(try await register("05", .liveactivity, "order-3", "Delivery") == order)
            #expect(try await store.devices(of: ada).count { $0.activity == "order-3" } == 1)
        }
    }

    @Test func theOldestMakesRoomBeyondTheLimit() async throws {
        try await Self.withStore { store in
            var ids: [UUID] = []
            for number in 0...RegistrationStore.maximumDevices {
                let token = String(number + 4096, radix: 16)
                ids.append(
                    try #require(
                        try await store.register(Self.registration(token: token), user: ada, session: session)
                    ).id)
            }
            #expect(try await store.devices(of: ada).map(\.id) == ids.dropFirst().reversed())
            // Registering the oldest one again removes nothing.
            try await store.database.query("UPDATE devices SET last_seen_at = last_seen_at - interval '2 days'")
            _ = try await store.register(Self.registration(token: "1001"), user: ada, session: session)
            #expect(try await store.devices(of: ada).count == RegistrationStore.maximumDevices)
            #expect(try await store.devices(of: ada).first?.id == ids[1])
        }
    }

    @Test func liveActivitiesPushOutNoAlertToken() async throws {
        try await Self.withStore { store in
            let tablet = try #require(
                try await store.register(Self.registration(token: "01"), user: ada, session: session))
            for number in 0...(RegistrationStore.maximumDevices + 5) {
                let registration = try Self.registration(
                    token: String(number + 4096, radix: 16), installation: "phone", kind: .liveactivity)
                _ = try await store.register(registration, user: ada, session: session)
            }
            let kept = try await store.devices(of: ada)
            #expect(kept.contains { $0.id == tablet.id })
            #expect(kept.count == RegistrationStore.maximumDevices + 1)
        }
    }

    @Test func aUserRemovesOnlyOwnDevices() async throws {
        try await Self.withStore { store in
            let device = try #require(try await store.register(Self.registration(), user: ada, session: session))
            #expect(try await store.remove(device.id, of: bob) == false)
            #expect(try await store.remove(device.id, of: ada))
            #expect(try await store.remove(device.id, of: ada) == false)
        }
    }

    @Test func erasingAUserMayBeRepeated() async throws {
        try await Self.withStore { store in
            _ = try await store.register(Self.registration(token: "01"), user: ada, session: session)
            _ = try await store.register(Self.registration(token: "02"), user: bob, session: .session(of: bob))
            // Also as the owner of a token whose device was detached before.
            try await store.database.query("DELETE FROM devices WHERE user_id = \(ada)")
            try await store.erase(user: ada)
            try await store.erase(user: ada)
            #expect(try await store.devices(of: ada).isEmpty)
            #expect(try await store.owners().map(\.user) == [bob])
            #expect(try await store.devices(of: bob).count == 1)
        }
    }

    @Test func twoUsersRegisterOneTokenAtOnce() async throws {
        try await Self.withStore { store in
            let users = [ada, bob, UUID()]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for attempt in 0..<60 {
                    group.addTask {
                        let registration = try Self.registration(
                            token: attempt % 2 == 0 ? "aa" : "bb", installation: "phone")
                        let user = users[attempt % 3]
                        let device = try await store.register(registration, user: user, session: .session(of: user))
                        #expect(device != nil)
                    }
                }
                try await group.waitForAll()
            }
            var devices = 0
            for user in users { devices += try await store.devices(of: user).count }
            // One statement leaves nothing half done.
            #expect(try await store.tokens().count == devices)
            #expect((1...2).contains(devices))
            // A token that its user's other one displaced has no owner.
            let owners = try await store.owners().count
            #expect((devices...2).contains(owners))
        }
    }
}

/// A writer that begins when the shutdown has begun, so that it has written nothing before.
private struct StoppingWriter: Service {
    let writer: LastSeenWriter

    func run() async throws {
        try await gracefulShutdown()
        await writer.run()
    }
}
