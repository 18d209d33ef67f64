import GatehouseContracts
import Foundation
import Testing

@testable import GatehouseClient

@Suite("How long a token serves") struct TokenLifeTests {
    @Test(
        "It is renewed a fifth of its life before the end, five minutes at most",
        arguments: [
            (5, 1.0), (60, 12), (600, 120), (1500, 300), (3600, 300), (86_400, 300),
        ])
    func margin(lifetime: Int, margin: Double) {
        let life = TokenLife(lifetime: .seconds(lifetime), sentAt: .seconds(100))
        #expect(life.end == .seconds(100 + lifetime))
        #expect(life.renewal == life.end - .seconds(margin))
        #expect(!life.isDue(at: life.renewal - .nanoseconds(1)) && life.isDue(at: life.renewal))
        #expect(!life.isOver(at: life.end - .nanoseconds(1)) && life.isOver(at: life.end))
    }

    /// Of a stored one only the device's clock tells.
    @Test(
        "A stored one never serves for longer than it could",
        arguments: [
            // Seconds since it was stored, by which the device's clock was moved; what is left of 3600.
            (0.0, 0.0, 3600.0), (1000, 0, 2600), (3600, 0, 0), (10_000, 0, 0), (1000, -86_400, 3600), (1000, 86_400, 0),
        ])
    func stored(passed: Double, moved: Double, left: Double) {
        let wall = Date(timeIntervalSince1970: 1_800_000_000)
        // The server is a day ahead.
        let session = StoredSession.sample(expiresAt: wall + 86_400 + 3600, clockOffset: 86_400)
        let life = TokenLife(stored: session, wall: wall + passed + moved, monotonic: .seconds(7))
        #expect(life.end == .seconds(7) + .seconds(left))
    }
}

extension StoredSession {
    static func sample(
        _ name: String = "session", expiresAt: Date = Date(timeIntervalSince1970: 1_800_003_600),
        clockOffset: TimeInterval = 0, user: GatehouseClient.User? = nil
    ) -> StoredSession {
        StoredSession(
            accessToken: Redacted("access.\(name)"), refreshToken: Redacted("refresh.\(name)"),
            accessExpiresAt: expiresAt, accessLifetime: 3600, refreshExpiresAt: expiresAt + 2_592_000,
            clockOffset: clockOffset,
            user: user
                ?? GatehouseClient.User(id: UUID(), role: "customer", authProviders: [.apple], createdAt: expiresAt))
    }
}
