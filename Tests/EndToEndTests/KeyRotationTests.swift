import AccessToken
import Contracts
import Foundation
import Synchronization
import TestKit
import Testing

/// Until when clients go on.
private final class Load: Sendable {
    private let state = Mutex(true)

    var goesOn: Bool { state.withLock { $0 } }

    func end() { state.withLock { $0 = false } }
}

/// Signing keys are replaced while users go on.
@Suite(.gatehouse(tokensReplicas: 2)) struct KeyRotationTests {
    let system = GatehouseSystem.current
    var journey: Journey { system.journey }

    @Test func aRotationUnderLoadRefusesNoGoodToken() async throws {
        let load = Load()
        try await withThrowingTaskGroup(of: Set<String>.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    var session = try await journey.register()
                    var keys: Set<String> = []
                    while load.goesOn {
                        // The old token as well as the new one, and at whichever replica the gateway chooses.
                        let me = try await journey.me(session.accessToken)
                        #expect(me.status == 200, "\(me.text)")
                        let refreshed = try await journey.refresh(session.refreshToken)
                        try #require(refreshed.status == 200, "\(refreshed.text)")
                        let old = session.accessToken
                        session = try refreshed.decode(AuthResponse.self)
                        for token in [old, session.accessToken] {
                            let answer = try await journey.me(token)
                            #expect(answer.status == 200, "\(answer.text)")
                        }
                        keys.insert(try keyID(of: session.accessToken))
                    }
                    return keys
                }
            }
            let first = try await published()
            try await keys("generate")
            try await eventually("both replicas publish two keys") {
                try await published().allSatisfy { $0.keyIDs.count == 2 }
            }
            // Forced, since no gateway has asked for the keys since: it does so when it meets the new one.
            #expect(try await keys("list").contains("next since"))
            try await keys("rotate", "--force")
            let second = try #require(Set(try await published().flatMap(\.keyIDs)).subtracting(first[0].keyIDs).first)
            try await eventually("both replicas sign with it") {
                let session = try await journey.register()
                for replica in system.tokensReplicas {
                    let answer = try await replica.call(
                        "POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: session.refreshToken))
                    guard try keyID(of: answer.decode(AuthResponse.self).accessToken) == second else { return false }
                }
                return true
            }
            try await keys("retire", "--access-token-lifetime", "3600")
            #expect(try await published().allSatisfy { $0.keyIDs.count == 2 }, "its tokens still live")
            load.end()
            let used = try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
            #expect(used == Set(first[0].keyIDs).union([second]))
        }
    }

    @discardableResult
    private func keys(_ arguments: String...) async throws -> String {
        var arguments = arguments
        if arguments == ["generate"] {
            arguments += ["--development", "--signing-key-file", system.signingKeyFile]
        }
        return try await system.process("tokens").run(["keys"] + arguments)
    }

    private func published() async throws -> [VerificationKeySet] {
        var sets: [VerificationKeySet] = []
        for replica in system.tokensReplicas {
            let answer = try await replica.get("/.well-known/jwks.json")
            sets.append(try VerificationKeySet(jwks: Array(answer.body)))
        }
        return sets
    }

    private func keyID(of token: String) throws -> String {
        struct Header: Decodable { var kid: String }
        let header = try #require(Base64URL.decode(token.prefix { $0 != "." }))
        return try JSONDecoder().decode(Header.self, from: Data(header)).kid
    }
}
