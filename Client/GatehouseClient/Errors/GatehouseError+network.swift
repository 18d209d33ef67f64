import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension GatehouseError {
    /// What a transport, a store or a cancelled task has thrown, for an app. An error of this library stays as it is.
    ///
    /// `CancellationError`, which a function with a typed error cannot throw, becomes ``Kind/cancelled``. Of a foreign
    /// error only its number is kept: its text may hold an address with a secret in it.
    static func of(_ error: any Error) -> GatehouseError {
        if let error = error as? GatehouseError { return error }
        if let error = error as? TokenStoreError { return GatehouseError(error) }
        if error is CancellationError { return GatehouseError(.cancelled) }
        if let code = networkCode(of: error) {
            return GatehouseError(kind(of: code), reason: "URLError \(code.rawValue)")
        }
        let error = error as NSError
        return GatehouseError(.unavailable, reason: "\(error.domain) \(error.code)")
    }

    /// - Returns: `nil` for an error that is none of `URLSession`'s.
    static func networkCode(of error: any Error) -> URLError.Code? {
        if let error = error as? URLError { return error.code }
        let error = error as NSError
        return error.domain == NSURLErrorDomain ? URLError.Code(rawValue: error.code) : nil
    }

    private static func kind(of code: URLError.Code) -> Kind {
        switch code {
        case .cancelled: .cancelled
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive: .offline
        case .timedOut: .timedOut
        case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData,
            .httpTooManyRedirects, .redirectToNonExistentLocation, .dataLengthExceedsMaximum:
            .server
        case .badURL, .unsupportedURL, .appTransportSecurityRequiresSecureConnection, .fileDoesNotExist,
            .fileIsDirectory, .noPermissionsToReadFile:
            .misuse
        // A host that cannot be found or reached, a connection that was lost, a certificate that is not trusted: what
        // stands between the device and the server.
        default: .unavailable
        }
    }
}
