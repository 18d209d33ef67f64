import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension AccessToken {
    /// What `Authorization` says (RFC 6750 §2.1).
    var credentials: String { "Bearer \(value.value)" }
}

extension URLRequest {
    /// The same request with this bearer, whatever bearer it had.
    func carrying(_ token: AccessToken) -> URLRequest {
        var request = self
        #if canImport(FoundationNetworking)
            // Foundation on Linux takes a value that is set alone apart, character by character, and that of a bearer
            // costs a third of the request. What could end a field's line goes that way nevertheless.
            if token.value.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
                var fields = (allHTTPHeaderFields ?? [:]).filter { $0.key.lowercased() != "authorization" }
                fields["Authorization"] = token.credentials
                request.allHTTPHeaderFields = fields
                return request
            }
        #endif
        request.setValue(token.credentials, forHTTPHeaderField: "Authorization")
        return request
    }
}
