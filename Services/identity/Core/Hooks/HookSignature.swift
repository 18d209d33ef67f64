import AsyncHTTPClient
import Crypto
package import Foundation
import GatehouseBytes
package import NIOCore
import NIOHTTP1

/// The signature with which a team's own endpoint verifies that a request is from Gatehouse, and when it was sent. An
/// attacker cannot replay an intercepted request much later.
package enum HookSignature {
    package static let header = "Gatehouse-Signature"

    /// `t=SECONDS,v1=HEX`: the HMAC-SHA-256 of the seconds, a dot and the body.
    package static func value(of body: [UInt8], at time: Date, secret: String) -> String {
        let seconds = Int64(time.timeIntervalSince1970)
        var signed = Data("\(seconds).".utf8)
        signed.append(contentsOf: body)
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: Data(secret.utf8)))
        return "t=\(seconds),v1=\(Hexadecimal.string(Array(code)))"
    }
}

/// A team's own endpoint has refused a request.
struct HookRefused: Error {
    var status: Int
}

extension HTTPClient {
    /// Posts JSON to a team's own endpoint. Only the status of the response counts; its body is not read.
    ///
    /// - Parameters:
    ///   - name: the header field that authenticates the request as Gatehouse's.
    ///   - proof: the field's value.
    ///   - timeout: for the whole exchange.
    /// - Throws: ``HookRefused`` for any status but 2xx.
    package func post(_ body: [UInt8], toHook url: URL, _ name: String, _ proof: String, timeout: TimeAmount)
        async throws
    {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: name, value: proof)
        request.body = .bytes(body)
        let response = try await execute(request, timeout: timeout)
        guard (200..<300).contains(response.status.code) else { throw HookRefused(status: Int(response.status.code)) }
    }
}
