import Bytes
import Crypto
import Foundation

/// Where events are posted to, and the secret by which the receiver knows that they are Gatehouse's.
struct Webhook: Sendable {
    var url: URL
    var secret: String

    /// In bytes.
    static let minimumSecretLength = 16

    /// The address without what may be a secret in it: for metrics and logs.
    var name: String {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        parts?.query = nil
        parts?.user = nil
        parts?.password = nil
        return parts?.string ?? ""
    }

    /// The value of `Gatehouse-Signature`: `t=SECONDS,v1=HEX`, an HMAC-SHA-256 over the time, a full stop and the body.
    /// The time keeps a message that was overheard from being sent again much later.
    func signature(of body: [UInt8], at time: Date) -> String {
        let seconds = Int64(time.timeIntervalSince1970)
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(seconds).".utf8) + body, using: SymmetricKey(data: Array(secret.utf8)))
        return "t=\(seconds),v1=\(Hexadecimal.string(Array(code)))"
    }
}
