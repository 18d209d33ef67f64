import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import TestKit
import Testing

/// Signing keys are replaced while users go on.
@Suite(.gatehouse(tokensReplicas: 2, settings: ["TOKENS_ACCESS_TOKEN_LIFETIME": "4"])) struct KeyRotationTests {
    let system = GatehouseSystem.current

    /// The whole rotation at the times that the operator's commands allow at least; none is forced.
    @Test func aRotationUnderLoadRefusesNoGoodToken() async throws {
        let load = SignedTokenLoad(journey: system.journey)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try await load.run() } }
            let first = try #require(try await published().first?.first)
            try await goesOn(load, with: first)

            try await keys("generate", "--development", "--signing-key-file", system.signingKeyFile)
            try await eventually("both replicas publish two keys") {
                try await published().allSatisfy { $0.count == 2 }
            }
            await #expect(throws: TestKitError.self, "it is too new") { try await keys("rotate") }
            try await eventually("the next key may sign", every: .milliseconds(250)) {
                do { try await keys("rotate", "--publication-time", "3") } catch is TestKitError { return false }
                return true
            }
            let second = try #require(try await published().flatMap { $0 }.first { $0 != first })
            // Tokens of both are about.
            try await goesOn(load, with: first)
            try await bothReplicasSign(with: second)

            #expect(try await keys("retire").contains("No key can go yet."))
            try await eventually("the old key may go", every: .milliseconds(250)) {
                try await keys("retire", "--notice-time", "3").contains("\(first) is gone.")
            }
            #expect(load.lastExpiry(ofTokensBy: first) <= .now)
            try await eventually("both replicas publish the new key alone") {
                try await published().allSatisfy { $0 == [second] }
            }
            try await goesOn(load, with: second)
            try await theOperatorSeesSinceWhenItSigns(second)
            load.end()
            try await group.waitForAll()
        }
        #expect(load.refusals.isEmpty)
    }

    /// Waits until clients are served, again, with this key's tokens.
    private func goesOn(_ load: SignedTokenLoad, with keyID: String) async throws {
        let before = load.served(by: keyID)
        try await eventually("clients are served") { load.served(by: keyID) > before }
    }

    private struct OperatorStatus: Decodable {
        struct Key: Decodable {
            var kid: String
            var state: String?
            var since: Date?
        }

        var keys: [Key]
    }

    private func theOperatorSeesSinceWhenItSigns(_ keyID: String) async throws {
        let status = try await TestHTTPClient(system.process("gateway").adminURL).get("/operator.json")
        let key = try status.decode(OperatorStatus.self).keys.first { $0.kid == keyID }
        let noted = try await keys("list").contains("\(keyID)  active since ")
        #expect(noted && key?.state == "active" && (key?.since ?? .distantFuture) <= .now, "\(status.text)")
    }

    private func bothReplicasSign(with keyID: String) async throws {
        var token = try await system.journey.register().refreshToken
        try await eventually("both replicas sign with the new key") {
            var used: Set<String> = []
            for replica in system.tokensReplicas {
                let answer = try await replica.call(
                    "POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: token))
                try #require(answer.status == 200, "\(answer.text)")
                let session = try answer.decode(AuthResponse.self)
                token = session.refreshToken
                used.insert(try SignedTokenLoad.keyID(of: session.accessToken))
            }
            return used == [keyID]
        }
    }

    @discardableResult
    private func keys(_ arguments: String...) async throws -> String {
        try await system.process("tokens").run(["keys"] + arguments)
    }

    /// The keys' identifiers, as each replica publishes them.
    private func published() async throws -> [[String]] {
        var sets: [[String]] = []
        for replica in system.tokensReplicas {
            let answer = try await replica.get("/.well-known/jwks.json")
            sets.append(Array(try VerificationKeySet(jwks: Array(answer.body)).keyIDs))
        }
        return sets
    }
}
