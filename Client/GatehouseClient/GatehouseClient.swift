// Apps import one module: what the server says is told in the contract's own types.
@_exported public import Contracts
import Foundation

/// Gatehouse as an app sees it: sign-in, the user's account, and requests in the user's name.
///
/// One for each process and store. It can be used from everywhere.
public final class GatehouseClient: Sendable {
    public let configuration: GatehouseConfiguration
    /// Who is signed in.
    public let session: Session
    let api: API
    let bearerScope: BearerScope

    /// - Throws: ``GatehouseError/Kind/misuse`` where the address is plain HTTP to another machine, or none at all:
    ///   tokens never travel in the clear.
    public init(configuration: GatehouseConfiguration) throws(GatehouseError) {
        guard Self.isSafe(configuration.baseURL) else {
            throw GatehouseError(.misuse, reason: "the base URL has to begin with https://, or name this machine")
        }
        self.configuration = configuration
        api = API(configuration: configuration)
        bearerScope = BearerScope(configuration: configuration)
        session = Session(configuration: configuration, api: api)
    }

    static func isSafe(_ url: URL) -> Bool {
        guard let host = url.host, !host.isEmpty, url.user == nil else { return false }
        switch url.scheme?.lowercased() {
        case "https": return true
        case "http": return url.isOfThisMachine
        default: return false
        }
    }
}

extension URL {
    /// Whether it names the machine that it is read on.
    var isOfThisMachine: Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host?.lowercased() ?? "")
    }
}
