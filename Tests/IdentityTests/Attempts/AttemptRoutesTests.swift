import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

extension ServiceTests {
    /// How often a caller may try, through the running service.
    @Suite struct AttemptRoutesTests {
        private static let withLimits = ["GATEHOUSE_RATE_LIMITS": "on"]
        private static let withoutRedis = withLimits.merging(["IDENTITY_REDIS_URL": "redis://127.0.0.1:1"]) { $1 }
        private let phone = SessionDevice(installationId: UUID().uuidString)
        private let user = "ada-\(UUID().uuidString.lowercased())@example.com"
        /// The gateway tells the address; any text will do.
        private let home = "home \(UUID())"
        private let stranger = "stranger \(UUID())"

        private func login(
            _ identity: Harness, _ password: String = "tulpenzwiebel", from address: String,
            on device: SessionDevice? = nil
        ) async throws -> TestHTTPClient.Response {
            try await identity.post(
                "/v1/auth/login", LoginRequest(identifier: user, password: password, device: device), from: address)
        }

        private func register(_ identity: Harness, on device: SessionDevice? = nil) async throws {
            let answer = try await identity.post(
                "/v1/auth/register", RegisterRequest(identifier: user, password: "tulpenzwiebel", device: device),
                from: home)
            #expect(answer.status == 201)
        }

        /// Tries wrong passwords until an attempt is refused.
        private func exhaust(_ identity: Harness, from address: String) async throws {
            var codes: [String?] = []
            while codes.last != "RATE_LIMITED", codes.count < 40 {
                codes.append(try await login(identity, "tulpenzwiebe1", from: address).code)
            }
            #expect(codes.first == "INVALID_CREDENTIALS" && codes.last == "RATE_LIMITED")
        }

        @Test(arguments: [withLimits, withoutRedis])
        func aStrangerKeepsNobodyOut(settings: [String: String]) async throws {
            try await withIdentity(settings) { identity in
                try await register(identity, on: phone)
                try await exhaust(identity, from: stranger)
                let refused = try await login(identity, from: stranger)
                #expect(refused.status == 429)
                #expect(refused.header("Retry-After").flatMap { Int($0) }.map { $0 > 10 } == true)
                let other = SessionDevice(installationId: UUID().uuidString)
                #expect(try await login(identity, from: stranger, on: other).status == 429)
                // More often than an address may guess: the right password counts as no attempt.
                for _ in 0..<11 {
                    #expect(try await login(identity, from: home).status == 200)
                    // Even from the stranger's own address.
                    #expect(try await login(identity, from: stranger, on: phone).status == 200)
                }
            }
        }

        private func token(_ answer: TestHTTPClient.Response) throws -> String {
            try #require(try answer.decode(AuthResponse.self).deviceToken)
        }

        private func holds(_ token: String) -> SessionDevice { SessionDevice(deviceToken: token) }

        @Test func whoHasSignedInOnADeviceGetsInThere() async throws {
            try await withIdentity(Self.withLimits) { identity in
                try await register(identity)
                let first = try token(try await login(identity, from: home))
                let eve = RegisterRequest(identifier: "eve-\(UUID())@example.com", password: "tulpenzwiebel")
                let eves = try token(try await identity.post("/v1/auth/register", eve, from: home))
                try await exhaust(identity, from: stranger)
                #expect(try await login(identity, from: stranger).status == 429)
                // Tokens of another user, of no user, and damaged.
                for other in [eves, "ghdt_x", String(first.dropLast()) + (first.last == "A" ? "B" : "A")] {
                    #expect(try await login(identity, from: stranger, on: holds(other)).status == 429)
                }
                let second = try token(try await login(identity, from: stranger, on: holds(first)))
                #expect(try await login(identity, from: stranger, on: holds(second)).status == 200)
                // Both are the same device's, which has so many guesses and no more.
                var codes: [String?] = []
                while codes.last != "RATE_LIMITED", codes.count < 40 {
                    let presented = codes.count % 2 == 0 ? first : second
                    codes.append(try await login(identity, "tulpenzwiebe1", from: stranger, on: holds(presented)).code)
                }
                #expect(codes.count == 11 && codes.last == "RATE_LIMITED")
            }
        }

        /// An attacker who knew the former password may have had many.
        @Test func aNewPasswordMakesDeviceTokensWorthless() async throws {
            try await withIdentity(Self.withLimits) { identity in
                try await register(identity)
                let answer = try await login(identity, from: home)
                let (old, user) = (try token(answer), try answer.decode(AuthResponse.self).user.id)
                try await exhaust(identity, from: stranger)
                #expect(try await login(identity, from: stranger, on: holds(old)).status == 200)
                try await identity.database.query(
                    "UPDATE users SET devices_since = now() + interval '1 minute' WHERE id = \(user)")
                #expect(try await login(identity, from: stranger, on: holds(old)).status == 429)
            }
        }

        @Test func theTokenIsNoPartOfTheSession() async throws {
            try await withIdentity { identity in
                try await register(identity, on: phone)
                var device = phone
                device.deviceToken = try token(try await login(identity, from: home, on: phone))
                #expect(try await login(identity, from: home, on: device).status == 200)
                let told = identity.tokens.state.withLock { $0.sessions.values.compactMap(\.device) }
                #expect(told.count == 3 && told.allSatisfy { $0 == phone })
                device.deviceToken = String(repeating: "x", count: 801)
                #expect(try await login(identity, from: home, on: device).code == "INVALID_REQUEST")
            }
        }

        @Test func eachPurposeIsCountedApart() async throws {
            try await withIdentity(Self.withLimits) { identity in
                try await register(identity)
                let forgot = ForgotPasswordRequest(identifier: user)
                let other = RegisterRequest(identifier: user, password: "kaffeekuchen")
                for (path, body) in [
                    ("/v1/auth/password/forgot", try JSON.encode(forgot)),
                    ("/v1/auth/register", try JSON.encode(other)),
                ] {
                    let body = String(decoding: body, as: UTF8.self)
                    var last: String?
                    for _ in 0..<40 where last != "RATE_LIMITED" {
                        let headers = [
                            HeaderName.credential: Harness.gatewayCredential, HeaderName.clientAddress: stranger,
                        ]
                        last = try await identity.send(.POST, path, json: body, headers: headers).code
                    }
                    #expect(last == "RATE_LIMITED")
                }
                for _ in 0..<5 { #expect(try await login(identity, from: home).status == 200) }
            }
        }

        @Test(arguments: [withLimits, withoutRedis])
        func resetsOfAStrangerKeepNobodyOut(settings: [String: String]) async throws {
            try await withIdentity(settings) { identity in
                try await register(identity, on: phone)
                func forgot(from address: String, on device: SessionDevice? = nil) async throws -> Int {
                    try await identity.post(
                        "/v1/auth/password/forgot", ForgotPasswordRequest(identifier: user, device: device),
                        from: address
                    ).status
                }
                for _ in 0..<5 { _ = try await forgot(from: stranger) }
                #expect(try await forgot(from: stranger) == 429)
                #expect(try await forgot(from: "hotel \(UUID())") == 202)
                for _ in 0..<30 { _ = try await forgot(from: "bot \(UUID())") }
                #expect(try await forgot(from: "hotel \(UUID())") == 429)
                #expect(try await forgot(from: home) == 202, "a network from which the user has signed in")
                #expect(try await forgot(from: stranger, on: phone) == 202)
            }
        }

        /// Otherwise passwords could be guessed by registering, during the ten minutes in which that may be repeated.
        @Test func repeatingARegistrationIsAnAttemptToSignIn() async throws {
            try await withIdentity(Self.withLimits) { identity in
                try await register(identity)
                try await exhaust(identity, from: stranger)
                let repeated = try await identity.post(
                    "/v1/auth/register", RegisterRequest(identifier: user, password: "tulpenzwiebel"), from: stranger)
                #expect(repeated.code == "RATE_LIMITED")
            }
        }

        @Test func whoIsSignedInDoesNotGuessTheCurrentPasswordWithoutEnd() async throws {
            try await withIdentity(Self.withLimits) { identity in
                try await register(identity)
                let id = try await login(identity, from: home).decode(AuthResponse.self).user.id
                func change(_ current: String) async throws -> String? {
                    try await identity.send(
                        .POST, "/v1/auth/password", as: id,
                        json: #"{"currentPassword":"\#(current)","newPassword":"kaffeekuchen"}"#
                    ).code
                }
                var codes: [String?] = []
                while codes.last != "RATE_LIMITED", codes.count < 40 { codes.append(try await change("tulpenzwiebe1")) }
                #expect(codes.last == "RATE_LIMITED" && codes.count == 11)
                #expect(try await login(identity, from: home).status == 200)
            }
        }

        @Test func aDeviceIsRememberedOnceADayAndNotByItsName() async throws {
            try await withIdentity { identity in
                try await register(identity, on: phone)
                func version() async throws -> [String] {
                    try await identity.database.query("SELECT xmin::text FROM known_devices").decode(String.self)
                }
                let first = try await version()
                #expect(first.count == 1)
                #expect(try await login(identity, from: home, on: phone).status == 200)
                #expect(try await version() == first)
                try await identity.database.query(
                    "UPDATE known_devices SET last_used_at = now() - interval '25 hours'")
                #expect(try await login(identity, from: home, on: phone).status == 200)
                let age = try await identity.database.query(
                    "SELECT now() - last_used_at < interval '1 hour', digest FROM known_devices"
                )[0].decode((Bool, String).self)
                #expect(age.0 && age.1 != phone.installationId)
                // What others could say too is no device.
                #expect(try await login(identity, from: home, on: .init(installationId: "iPhone")).status == 200)
                #expect(try await version().count == 1)
            }
        }

        /// An attacker who knew the former password may have signed in on any number of devices.
        @Test func aNewPasswordForgetsTheDevices() async throws {
            try await withIdentity(Self.withLimits) { identity in
                try await register(identity, on: phone)
                let id = try await login(identity, from: home, on: phone).decode(AuthResponse.self).user.id
                let body = #"{"currentPassword":"tulpenzwiebel","newPassword":"kaffeekuchen"}"#
                #expect(try await identity.send(.POST, "/v1/auth/password", as: id, json: body).status == 204)
                try await exhaust(identity, from: stranger)
                let former = LoginRequest(identifier: user, password: "kaffeekuchen", device: phone)
                #expect(try await identity.post("/v1/auth/login", former, from: stranger).code == "RATE_LIMITED")
                // The next sign-in is remembered.
                #expect(try await identity.post("/v1/auth/login", former, from: home).status == 200)
                #expect(try await identity.post("/v1/auth/login", former, from: stranger).status == 200)
            }
        }

        /// A sign-in with the former password that ends after the change is not remembered.
        @Test func aSignInThatTheNewPasswordOvertakesIsNotRemembered() async throws {
            try await withDatabase(migrations: Migrations.all) { database in
                let stores = Stores(on: database.pool)
                let address = Identifier.email(try EmailAddress("ada@example.com"))
                let account = try #require(
                    try await stores.passwords.register(NewAccount(identifier: address, passwordHash: "x")))
                let store = KnownDeviceStore(database: database.pool, keys: .sample)
                let remembering = try await database.pool.withTransaction { transaction in
                    let user = try #require(try await AccountStore.lock(account, on: transaction))
                    _ = try await PasswordStore.replace(
                        of: user, by: "y", sparing: nil, event: .passwordChanged, actor: .user, notices: nil,
                        on: transaction)
                    let remembering = Task {
                        try await store.remember("installation number 1", of: account)
                    }
                    try await eventually("it waits for the change") {
                        try await !database.pool.lockWaiters().isEmpty
                    }
                    return remembering
                }
                try await remembering.value
                #expect(try await store.device("installation number 1", of: address) == nil)
            }
        }

        /// An account may have no password afterwards, and the former one's age says nothing then.
        @Test func anUndoEndsTheTokensOfDevicesAndForgetsNetworks() async throws {
            try await withDatabase(migrations: Migrations.all) { database in
                let address = Identifier.email(try EmailAddress("ada@example.com"))
                let account = try #require(
                    try await PasswordStore(database: database.pool).register(
                        NewAccount(identifier: address, passwordHash: "x")))
                let store = KnownDeviceStore(database: database.pool, keys: .sample)
                try await store.remember(network: "198.51.100.7", of: account.id)
                let token = KnownDeviceToken(userID: account.id, issuedAt: Int64(Date.now.timeIntervalSince1970) - 600)
                #expect(try await store.device(token, of: address) != nil)
                try await database.pool.withTransaction { transaction in
                    #expect(try await AccountStore.lock(account, on: transaction) != nil)
                    try await KnownDeviceStore.forget(devicesOf: account.id, on: transaction)
                }
                #expect(try await store.device(token, of: address) == nil)
                #expect(try await store.network("198.51.100.7", of: address) == nil)
            }
        }

        @Test func whatIsKnownOfDevicesIsExportedAndGoesWithTheAccount() async throws {
            try await withIdentity { identity in
                try await register(identity, on: phone)
                let user = try await login(identity, from: home, on: phone).decode(AuthResponse.self).user.id
                let answer = try await identity.send(.GET, "/v1/auth/export", as: user)
                let known = try #require(try answer.decode(AccountExport.self).knownDevices)
                #expect(known.count == 1 && known[0].lastUsedAt > .now - 600)
                let networks = try #require(try answer.decode(AccountExport.self).knownNetworks)
                #expect(networks.count == 1 && networks[0].lastUsedAt > .now - 600)
                #expect(try await identity.send(.DELETE, "/v1/auth/account", as: user).status == 202)
                try await eventually("no row remains") { try await identity.tables(of: user).isEmpty }
            }
        }

        @Test func theDevicesThatServedLongestAgoAreForgotten() async throws {
            try await withDatabase(migrations: Migrations.all) { database in
                let passwords = PasswordStore(database: database.pool)
                let address = Identifier.email(try EmailAddress("ada@example.com"))
                let account = try #require(
                    try await passwords.register(NewAccount(identifier: address, passwordHash: "x")))
                let store = KnownDeviceStore(database: database.pool, keys: .sample)
                let names = (0...KnownDeviceStore.maximum).map { "installation number \($0)" }
                for name in names { try await store.remember(name, of: account) }
                #expect(try await store.device(names[0], of: address) == nil)
                for name in names.dropFirst() {
                    let known = try await store.device(name, of: address)
                    #expect(known?.parts.first == account.id.uuidString)
                }
                let other = Identifier.email(try EmailAddress("eve@example.com"))
                #expect(try await store.device(names[1], of: other) == nil)
            }
        }
    }
}
