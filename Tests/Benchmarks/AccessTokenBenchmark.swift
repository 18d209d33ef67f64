import AccessToken
// `timespec`'s fields are taken for Dispatch's or Glibc's, whichever module the compiler has read first.
import Dispatch
import Foundation

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
        let before = ThreadTime.now
        var operations = 0
        while ContinuousClock.now - started < schedule.measured {
            for _ in 0..<100 { try body() }
            operations += 100
        }
        return Measurement(
            name: name, operations: operations, elapsed: .now - started, cpu: [("bench", ThreadTime.now - before)])
    }
}

enum ThreadTime {
    /// CPU time of the calling thread.
    static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
