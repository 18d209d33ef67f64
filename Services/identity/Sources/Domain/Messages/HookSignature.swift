import Bytes
import Crypto
import Foundation

/// By which a team's own sender knows that a message is from Gatehouse, and when it was sent.
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
