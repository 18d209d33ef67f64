import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import TestKit
import Testing

@testable import IdentityCore

extension AdministrationServiceTests {
    /// Identifiers, as operators give, move and remove them.
    @Suite struct AdminIdentifierTests {
        private func set(
            _ admin: AdminHarness, _ identifier: String, _ kind: String, of id: UUID
        ) async throws -> TestHTTPClient.Response {
            try await admin.send(
                .PUT, "/users/\(id.path)/identifiers/\(kind)", json: #"{"identifier":"\#(identifier)"}"#)
        }

        private func move(
            _ admin: AdminHarness, _ kind: String, from: UUID, to: UUID
        ) async throws -> TestHTTPClient.Response {
            try await admin.send(
                .POST, "/users/\(from.path)/identifiers/\(kind)/move", json: #"{"to":"\#(to.path)"}"#)
        }

        @Test func anIdentifierIsGivenMovedAndRemoved() async throws {
            try await withOperator { admin in
                let ada = try await admin.identity.register("ada@example.com").user.id
                let eve = try await admin.identity.register("eve@example.com").user.id
                let given = try await set(admin, "+49 171 1234567", "phone", of: ada)
                let user: AdminUser = try given.decode()
                #expect(user.phone == "+491711234567" && user.identifiers.count == 2)
                #expect(user.identifiers.last == .init(kind: "phone", value: "+491711234567", verified: true))
                #expect(try await set(admin, "+49 171 1234567", "phone", of: eve).code == "IDENTIFIER_TAKEN")

                let moved: AdminUser = try await move(admin, "phone", from: ada, to: eve).decode()
                #expect(moved.id == eve && moved.phone == "+491711234567")
                #expect(try await admin.identity.login("+491711234567").decode(AuthResponse.self).user.id == eve)
                #expect(try await move(admin, "phone", from: ada, to: eve).status == 404)
                #expect(try await move(admin, "email", from: ada, to: eve).code == "IDENTIFIER_TAKEN")

                let path = "/users/\(eve.path)/identifiers/"
                let removed: AdminUser = try await admin.send(.DELETE, path + "email").decode()
                #expect(removed.identifiers.map(\.kind) == ["phone"])
                let last = try await admin.send(.DELETE, path + "phone")
                #expect(last.status == 403 && last.text.contains("only way to sign in"))
                let entries = try await admin.entries("user=\(eve.path)&action=identifier_removed")
                #expect(entries.map(\.by.id) == [admin.operatorID.path] && entries.first?.detail == "email")
            }
        }

        @Test func whatMakesNoSenseIsRefused() async throws {
            try await withOperator { admin in
                let ada = try await admin.identity.register("ada@example.com").user.id
                #expect(try await set(admin, "+491711234567", "email", of: ada).code == "INVALID_REQUEST")
                #expect(try await set(admin, "b@example.com", "phone", of: ada).code == "INVALID_REQUEST")
                #expect(try await set(admin, "nobody", "email", of: ada).code == "INVALID_REQUEST")
                #expect(try await set(admin, "b@example.com", "fax", of: ada).status == 404)
                #expect(try await set(admin, "b@example.com", "email", of: UUID()).status == 404)
                #expect(try await move(admin, "email", from: ada, to: UUID()).status == 404)
                #expect(try await move(admin, "email", from: UUID(), to: ada).status == 404)
                for (method, path, json) in [
                    (HTTPMethod.PUT, "email", #"{"identifier":"b@example.com"}"#), (.DELETE, "email", nil),
                    (.POST, "email/move", #"{"to":"\#(UUID())"}"#),
                ] {
                    let old = try await admin.send(
                        method, "/users/\(ada.path)/identifiers/\(path)", age: 700, json: json)
                    #expect(old.code == "REAUTHENTICATION_REQUIRED")
                }
                #expect(try await admin.identity.login("ada@example.com").status == 200)
            }
        }
    }
}
