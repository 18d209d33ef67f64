import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials

extension AdministrationServiceTests {
    /// What the service writes into the audit log.
    @Suite struct AuditRoutesTests {
        private static func entries(_ service: Harness, of user: UUID) async throws -> [AuditRecord] {
            try await AuditStore(database: service.database).page(of: user, before: nil, limit: 100)
        }

        @Test func aSignInSaysWhoWhereAndWithWhichClient() async throws {
            try await withIdentity { service in
                let user = try await service.register("ada@example.com").user.id
                let login = LoginRequest(
                    identifier: "ada@example.com", password: "tulpenzwiebel",
                    device: SessionDevice(name: "Ada's phone", appVersion: "4.2"))
                let answer = try await service.send(
                    .POST, "/v1/auth/login", json: String(decoding: JSON.encode(login), as: UTF8.self),
                    headers: [
                        HeaderName.credential: Harness.gatewayCredential, HeaderName.clientAddress: "192.0.2.7",
                        "User-Agent": "Shop/4.2 (iOS)",
                    ])
                #expect(answer.status == 200)
                let entries = try await Self.entries(service, of: user)
                #expect(entries.map(\.event) == ["signed_in", "signed_in", "registered"])
                let last = try #require(entries.first)
                #expect(last.actor == "user" && last.actorID == user.path && last.sessionID != nil)
                #expect(
                    last.origin
                        == AuditOrigin(
                            address: "192.0.2.7", userAgent: "Shop/4.2 (iOS)", device: "Ada's phone",
                            appVersion: "4.2"))
                // The user is told, and it goes with the account. The entries stay.
                let export: AccountExport = try await service.send(.GET, "/v1/auth/export", as: user).decode()
                #expect(export.events.first?.ipAddress == "192.0.2.7" && export.events.first?.appVersion == "4.2")
                #expect(try await service.send(.DELETE, "/v1/auth/account", as: user).status == 202)
                let left = try await Self.entries(service, of: user)
                #expect(left.map(\.event) == ["deleted", "signed_in", "signed_in", "registered"])
                #expect(left.allSatisfy { $0.origin == nil })
                let seals = AuditSealStore(database: service.database, keys: .sample)
                #expect(try await seals.verify(days: nil).flaws == [])
            }
        }

        /// One entry for many attempts, and none for a user who does not exist.
        @Test func refusedSignInsAreCounted() async throws {
            try await withIdentity(
                afterwards: { pool in
                    let refused = try await pool.query(
                        """
                        SELECT actor, actor_id, detail, count::bigint FROM audit_entries
                        WHERE event = 'sign_in_refused' ORDER BY detail
                        """
                    ).decode((String, String?, String?, Int).self)
                    try #require(refused.count == 2)
                    #expect(refused[0] == ("unknown", nil, "disabled", 1))
                    #expect(refused[1] == ("unknown", nil, "password", 3))
                },
                { service in
                    let user = try await service.register("ada@example.com").user.id
                    for _ in 0..<3 { #expect(try await service.login("ada@example.com", "not this one").status == 401) }
                    #expect(try await service.login("eve@example.com", "not this one").status == 401)
                    _ = try await AccountStore(database: service.database).setState(
                        .disabled, of: user, actor: .operator)
                    #expect(try await service.login("ada@example.com").code == "ACCOUNT_DISABLED")
                })
        }

        /// Each way to present a wrong credential leaves an entry for the account that it concerns.
        @Test func refusedCodesTokensMergesAndReauthenticationsAreCounted() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "messages-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let users = Mutex<(ada: UUID, eve: UUID)>((UUID(), UUID()))
            try await withIdentity(
                ["IDENTITY_MESSAGE_FOLDER": folder.path(), "IDENTITY_APP_NAME": "Shop"],
                afterwards: { pool in
                    let (ada, eve) = users.withLock { $0 }
                    func refused(_ user: UUID) async throws -> [String] {
                        try await pool.query(
                            """
                            SELECT concat_ws(' ', detail, count, actor, nullif(actor_id = \(eve.path), false))
                            FROM audit_entries WHERE event = 'sign_in_refused' AND user_id = \(user)
                            """
                        ).decode(String.self).sorted()
                    }
                    let (ofAda, ofEve) = (try await refused(ada), try await refused(eve))
                    #expect(ofAda == ["code 2 unknown", "password 1 unknown", "password merge 1 user t"])
                    #expect(
                        ofEve == [
                            "apple 1 user t", "apple reauthentication 1 user t", "code 1 user t",
                            "password 1 user t", "password reauthentication 1 user t",
                        ])
                    let ofNoUser = try await refused(AuditStore.noUser)
                    #expect(ofNoUser == ["apple 1 unknown"])
                },
                { service in
                    let messages = MessageFiles(folder: folder)
                    let ada = try await service.verify("ada@example.com", in: messages).id
                    let eve = try await service.register("eve@example.com").user.id
                    let hash = try #require(
                        try await PasswordStore(database: service.database).account(eve)?.passwordHash)
                    let credential = PasswordCredential.new(of: ada)
                    try await service.database.withTransaction { transaction in
                        #expect(try await CredentialStore.insert([credential], on: transaction))
                        try await PasswordStore.addHashes([(credential.id, hash)], on: transaction)
                    }
                    users.withLock { $0 = (ada, eve) }
                    let code = VerifyCodeRequest(identifier: "ada@example.com", code: "000000")
                    #expect(try await service.post("/v1/auth/code/verify", code).status == 401)
                    // Beside a bearer that was refused.
                    let beside = try await service.send(
                        .POST, "/v1/auth/code/verify", json: String(decoding: JSON.encode(code), as: UTF8.self),
                        headers: [
                            HeaderName.credential: Harness.gatewayCredential, HeaderName.bearerError: "INVALID_TOKEN",
                        ])
                    #expect(beside.code == "INVALID_TOKEN")
                    let unknown = VerifyCodeRequest(identifier: "nobody@example.com", code: "000000")
                    #expect(try await service.post("/v1/auth/code/verify", unknown).status == 401)
                    let register = RegisterRequest(identifier: "ada@example.com", password: "kaffeekuchen")
                    #expect(try await service.post("/v1/auth/register", register).code == "IDENTIFIER_TAKEN")
                    #expect(try await service.apple("no token").code == "INVALID_APPLE_TOKEN")

                    func send(_ path: String, _ body: some Encodable, _ code: String) async throws {
                        let answer = try await service.send(.POST, "/v1/auth/" + path, as: eve, body: body)
                        #expect(answer.code == code, "\(path): \(answer.text)")
                    }
                    let change = ChangePasswordRequest(currentPassword: "not this one", newPassword: "kaffeekuchen")
                    try await send("password", change, "INVALID_CREDENTIALS")
                    try await send(
                        "reauthenticate", ReauthenticateRequest(password: "not this one"), "INVALID_CREDENTIALS")
                    try await send(
                        "reauthenticate", ReauthenticateRequest(identityToken: "no token"), "INVALID_APPLE_TOKEN")
                    try await send(
                        "identities/apple", LinkAppleRequest(identityToken: "no token"), "INVALID_APPLE_TOKEN")
                    let merge = MergeRequest(password: "not this one", identifier: "ada@example.com")
                    try await send("merge", merge, "INVALID_CREDENTIALS")
                    // A request that asked for no code leaves the user who is signed in.
                    try await send(
                        "code/verify", VerifyCodeRequest(code: "000000", codeRequest: UUID().uuidString),
                        "INVALID_CREDENTIALS")
                })
        }

        /// The former account's export does not show the IP address of the user who takes its address over.
        @Test func anotherUsersOriginIsNotInTheExport() async throws {
            try await withIdentity { service in
                let former = try await service.register("ada@example.com").user.id
                let owner = try await service.signIn("001", email: "ada@example.com").user.id
                let entries = try await Self.entries(service, of: former)
                let lost = try #require(entries.first)
                #expect(lost.event == "identifier_lost" && lost.actorID == owner.path && lost.originOwner == owner)
                let export: AccountExport = try await service.send(.GET, "/v1/auth/export", as: former).decode()
                #expect(export.events.first?.event == "identifier_lost" && export.events.first?.ipAddress == nil)
                #expect(export.events.last?.ipAddress != nil)
            }
        }
    }
}
