import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import Synchronization
import TestKit
import Testing

/// Clients that refresh and use their access tokens until they expire, and what became of these.
final class SignedTokenLoad: Sendable {
    private struct State {
        var goesOn = true
        var served: [String: Int] = [:]
        var lastExpiry: [String: Date] = [:]
        var refusals: [String] = []
    }

    private let journey: Journey
    private let state = Mutex(State())

    init(journey: Journey) { self.journey = journey }

    /// How many requests were served whose tokens this key had signed.
    func served(by keyID: String) -> Int { state.withLock { $0.served[keyID, default: 0] } }

    /// When the last token that this key has signed expires.
    func lastExpiry(ofTokensBy keyID: String) -> Date { state.withLock { $0.lastExpiry[keyID] ?? .distantPast } }

    /// Answers that a good token was given but 200.
    var refusals: [String] { state.withLock { $0.refusals } }

    func end() { state.withLock { $0.goesOn = false } }

    /// One client, until the end. It goes to whichever replica the gateway chooses.
    func run() async throws {
        var session = try await journey.register()
        var live = [session]
        while state.withLock({ $0.goesOn }) {
            // The token that will expire next as well as the new one.
            for session in live.count > 1 ? [live[0], session] : live { try await use(session) }
            live.removeAll { $0.expiresAt <= .now }
            let refreshed = try await journey.refresh(session.refreshToken)
            try #require(refreshed.status == 200, "\(refreshed.text)")
            session = try refreshed.decode(AuthResponse.self)
            live.append(session)
            // A pause as an app makes, so that the load does not take up the whole machine.
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private func use(_ session: AuthResponse) async throws {
        let keyID = try Self.keyID(of: session.accessToken)
        let answer = try await journey.me(session.accessToken)
        // A request that was late is refused rightly.
        let hasExpired = answer.code == "TOKEN_EXPIRED" && session.expiresAt <= .now
        state.withLock { state in
            state.lastExpiry[keyID] = max(session.expiresAt, state.lastExpiry[keyID] ?? .distantPast)
            if answer.status == 200 {
                state.served[keyID, default: 0] += 1
            } else if !hasExpired {
                let remaining = session.expiresAt.timeIntervalSinceNow
                state.refusals.append("\(answer.status) \(answer.text), \(keyID), \(remaining) s before its expiry")
            }
        }
    }

    static func keyID(of token: String) throws -> String {
        struct Header: Decodable { var kid: String }
        let header = try #require(Base64URL.decode(token.prefix { $0 != "." }))
        return try JSONDecoder().decode(Header.self, from: Data(header)).kid
    }
}
