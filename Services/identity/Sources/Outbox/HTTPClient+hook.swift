import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// A team's own address has not taken what was posted to it.
struct HookRefused: Error {
    var status: Int
}

extension HTTPClient {
    /// Posts JSON to an address of the team's own. Only the status counts: a body is not read.
    ///
    /// - Parameters:
    ///   - name: of the field by which the receiver knows that the request is from Gatehouse.
    ///   - proof: the field's value.
    ///   - timeout: for the whole exchange.
    /// - Throws: ``HookRefused`` for any status but 2xx.
    func post(_ body: [UInt8], toHook url: URL, _ name: String, _ proof: String, timeout: TimeAmount) async throws {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: name, value: proof)
        request.body = .bytes(body)
        let response = try await execute(request, timeout: timeout)
        guard (200..<300).contains(response.status.code) else { throw HookRefused(status: Int(response.status.code)) }
    }
}
