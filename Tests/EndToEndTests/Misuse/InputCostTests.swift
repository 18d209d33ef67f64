import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

extension SystemTests {
    /// A body of 64 KB costs a service no more CPU time for the characters that are in it.
    @Suite struct InputCost {
        let system = GatehouseSystem.current
        let length = 60_000

        /// A valid request of a route, as fields by their paths.
        struct Sample {
            var fields: [String: String]
            /// A further member, as JSON.
            var further: String?
            var isForm = false

            var contentType: String { isForm ? "application/x-www-form-urlencoded" : "application/json" }

            func body(replacing path: String, by text: String) throws -> Data {
                var fields = fields
                fields[path] = text
                return try body(of: fields.map { ($0, $1) })
            }

            func body(of fields: [(path: String, text: String)]) throws -> Data {
                if isForm { return Data(fields.map { "\($0)=\($1)" }.joined(separator: "&").utf8) }
                var members = [further].compactMap(\.self)
                // By bytes: to hash the costly names as strings would cost this process what the services are spared.
                let byName = Dictionary(grouping: fields) { Array($0.path.utf8.prefix { $0 != UInt8(ascii: ".") }) }
                for (name, inner) in byName {
                    let rest = inner.map { ($0.path.utf8.dropFirst(name.count + 1), $0.text) }
                    let value =
                        rest[0].0.isEmpty
                        ? Self.quoted(rest[0].1)
                        : "{" + rest.map { "\(Self.quoted(Self.text($0))):\(Self.quoted($1))" }.joined(separator: ",")
                            + "}"
                    members.append("\(Self.quoted(Self.text(name))):\(value)")
                }
                return Data("{\(members.joined(separator: ","))}".utf8)
            }

            private static func text(_ bytes: some Collection<UInt8>) -> String {
                String(decoding: bytes, as: UTF8.self)
            }

            private static func quoted(_ text: String) -> String { "\"\(text)\"" }
        }

        private func samples(identityToken: String) -> [String: Sample] {
            let device = [
                "device.installationId": "1", "device.name": "Phone", "device.model": "a", "device.osVersion": "1",
                "device.appVersion": "1",
            ]
            let (identifier, password) = ("cost@example.com", "correct horse battery staple")
            let apple = [
                "identityToken": identityToken, "authorizationCode": "code", "nonce": "nonce",
                "fullName.givenName": "Ada", "fullName.familyName": "Lovelace", "email": identifier,
            ]
            return [
                "/v1/auth/apple": Sample(fields: apple),
                "/v1/auth/apple/nonce": Sample(fields: [:]),
                "/v1/auth/apple/notifications": Sample(fields: ["payload": identityToken]),
                "/v1/auth/register": Sample(
                    fields: ["identifier": identifier, "password": "short", "displayName": "Ada"]),
                "/v1/auth/login": Sample(
                    fields: ["identifier": identifier, "password": ""].merging(device) { $1 }),
                "/v1/auth/code": Sample(
                    fields: ["identifier": identifier, "purpose": "signIn"].merging(device) { $1 }),
                "/v1/auth/code/verify": Sample(
                    fields: ["identifier": identifier, "code": "123456"].merging(device) { $1 }),
                "/v1/auth/me": Sample(fields: ["displayName": "Ada"]),
                "/v1/auth/password": Sample(fields: ["currentPassword": password, "newPassword": "short"]),
                "/v1/auth/password/forgot": Sample(fields: ["identifier": identifier]),
                "/v1/auth/password/reset": Sample(fields: ["token": "token", "newPassword": password]),
                "/v1/auth/reauthenticate": Sample(fields: ["password": password, "nonce": "nonce"]),
                "/v1/auth/identities/apple": Sample(fields: ["identityToken": identityToken, "nonce": "nonce"]),
                "/v1/auth/identifiers/{kind}": Sample(
                    fields: ["identifier": identifier, "code": "123456", "codeRequest": "a", "linkToken": "a"]),
                "/v1/auth/identifiers/undo": Sample(fields: ["token": "token"]),
                "/v1/auth/merge": Sample(
                    fields: ["identifier": identifier, "password": "", "nonce": "nonce"].merging(device) { $1 }),
                "/v1/auth/refresh": Sample(fields: ["refreshToken": "token"]),
                "/v1/auth/logout": Sample(fields: ["refreshToken": "token"]),
                "/v1/auth/logout-all": Sample(fields: [:], further: #""exceptCurrent":true"#),
                "/oauth/token": Sample(
                    fields: ["grant_type": "refresh_token", "refresh_token": "a", "client_id": "a", "scope": "a"],
                    isForm: true),
                "/oauth/revoke": Sample(
                    fields: ["token": "a", "token_type_hint": "a", "client_id": "a"], isForm: true),
                "/v1/admin/users": Sample(
                    fields: [
                        "identifier": identifier, "password": "short", "displayName": "Ada", "role": "courier",
                    ]),
                "/v1/admin/users/{id}": Sample(fields: ["displayName": "Ada", "role": "courier"]),
                "/v1/admin/users/{id}/disable": Sample(fields: [:]),
                "/v1/admin/users/{id}/enable": Sample(fields: [:]),
                "/v1/admin/users/{id}/identifiers/{kind}": Sample(fields: ["identifier": identifier]),
                "/v1/admin/users/{id}/identifiers/{kind}/move": Sample(fields: ["to": UUID().uuidString]),
                "/v1/admin/test-pushes": Sample(
                    fields: ["title": "Hello", "body": "Ada", "bundleId": "com.example.app"]),
                "/v1/devices/register": Sample(fields: [
                    "token": "00ff", "environment": "sandbox", "bundleId": "com.example.app", "installationId": "1",
                    "kind": "alert", "locale": "en-GB", "timeZone": "Europe/Berlin", "appVersion": "1",
                    "osVersion": "1", "model": "a",
                ]),
            ]
        }

        @Test func costGrowsLinearlyWithTheLength() async throws {
            let journey = system.journey
            let samples = samples(identityToken: try await journey.appleToken().identityToken)
            let (marks, letters) = (CostlyText.marks(bytes: length), CostlyText.harmless(bytes: length))
            let half = CostlyText.marks(bytes: length / 2)
            let session = try await journey.register()
            let boss = try await system.signInOperator()
            for route in PublicRoute.all where ["POST", "PATCH", "PUT"].contains(route.method) {
                let sample = try #require(samples[route.path], "no sample of \(route.path)")
                let probe = Probe(
                    system: system, route: route, contentType: sample.contentType,
                    bearer: route.bearer == .required
                        ? (route.isForOperators ? boss : session).accessToken : nil)
                let unknown = try sample.body(of: [("x", letters)])
                let floor = try await min(probe.cost(of: unknown), probe.cost(of: unknown))
                for field in sample.fields.keys.sorted() {
                    try await probe.expectCheap(
                        sample.body(replacing: field, by: marks), besides: sample.body(replacing: field, by: letters),
                        floor: floor, field)
                }
                try await probe.expectCheap(
                    sample.body(of: [("x", marks)]), besides: unknown, floor: floor, "an unknown field")
                try await probe.expectCheap(
                    sample.body(of: [(half, "1"), (half + "b", "1")]), besides: unknown, floor: floor,
                    "two unknown names")
            }
        }

        /// Sends bodies to a route, and measures the CPU time that its service takes for them.
        private struct Probe {
            let system: GatehouseSystem
            let route: PublicRoute
            let contentType: String
            let bearer: String?

            func cost(of body: Data) async throws -> Duration {
                let process = system.process(route.owner.rawValue)
                let start = try #require(process.cpuTime)
                let answer = try await system.gateway.call(
                    route.method,
                    route.path.replacing("{id}", with: UUID().uuidString).replacing("{kind}", with: "email"),
                    bearer: bearer, headers: ["Content-Type": contentType], body: body)
                #expect(answer.status < 500, "\(route.path): \(answer.text)")
                #expect(answer.code != "INVALID_TOKEN", "\(route.path)")
                return try #require(process.cpuTime) - start
            }

            /// Other tests ask the same process at the same time, and some work is done after the answer. So the
            /// service has to do the request for little once, not every time.
            ///
            /// - Parameters:
            ///   - usual: a body of the same length that spells nothing special.
            ///   - floor: the cost of a body of that length that is refused at once: on a slow machine it counts, too.
            func expectCheap(_ body: Data, besides usual: Data, floor: Duration, _ field: String) async throws {
                var (least, tries) = (try await cost(of: body) - floor, 0)
                while least > .milliseconds(100) && tries < 8 {
                    least = min(least, try await cost(of: body) - cost(of: usual))
                    tries += 1
                }
                #expect(least < .milliseconds(100), "\(route.path) \(field)")
            }
        }
    }
}
