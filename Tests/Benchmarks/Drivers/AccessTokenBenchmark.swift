import Foundation
import GatehouseAccessTokens

/// Signing and verifying one access token, beside the bare RSA operation as `openssl speed` measures it.
struct AccessTokenBenchmark {
    let schedule: Schedule

    func run() async throws {
        Table.header("Access tokens, one thread")
        let now = Int64(Date.now.timeIntervalSince1970)
        let key = try RSAPrivateKey.generate()
        let signer = try AccessTokenSigner(key: key)
        let verifier = try AccessTokenVerifier(
            issuer: "http://gatehouse.localhost", audience: "gatehouse", keys: VerificationKeySet(keys: [key.publicKey])
        )
        let claims = AccessTokenClaims(
            issuer: "http://gatehouse.localhost", audience: "gatehouse", subject: UUID(), sessionID: UUID(),
            issuedAt: now, expiresAt: now + 3600, clientID: "com.example.app", role: "courier",
            storeIDs: ["store-1", "store-2"], email: "ada@example.com")
        let token = Array(try signer.sign(claims).utf8)

        let openssl = try await OpenSSLSpeed.rsa2048(seconds: schedule.wholeSeconds)
        Table.line(openssl.sign)
        Table.line(try repeating("sign an access token") { _ = try signer.sign(claims) })
        Table.line(openssl.verify)
        Table.line(try repeating("verify an access token") { _ = try verifier.verify(token, now: now) })
    }

    private func repeating(_ name: String, _ body: () throws -> Void) throws -> Measurement {
        for _ in 0..<100 { try body() }
        let started = ContinuousClock.now
        let before = CPUTime.now
        var operations = 0
        while ContinuousClock.now - started < schedule.measured {
            for _ in 0..<100 { try body() }
            operations += 100
        }
        return Measurement(
            name: name, operations: operations, elapsed: .now - started,
            cpu: [("bench", CPUTime.now - before)])
    }
}

enum CPUTime {
    /// Of this process, which POSIX counts in microseconds.
    static var now: Duration { .microseconds(clock()) }
}
