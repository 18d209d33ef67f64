import Bytes
import Crypto
import Foundation

/// By which an address of the team's own knows that what was posted to it is from Gatehouse, and when it was sent: what
/// was overheard is no good much later.
enum HookSignature {
    static let header = "Gatehouse-Signature"

    /// `t=SECONDS,v1=HEX`: the HMAC-SHA-256 of the seconds, a dot and the body.
    static func value(of body: [UInt8], at time: Date, secret: String) -> String {
        let seconds = Int64(time.timeIntervalSince1970)
        var signed = Data("\(seconds).".utf8)
        signed.append(contentsOf: body)
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: Data(secret.utf8)))
        return "t=\(seconds),v1=\(Hexadecimal.string(Array(code)))"
    }
}
