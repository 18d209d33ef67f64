#if canImport(AuthenticationServices)
    public import AuthenticationServices
    import Foundation

    extension AppleCredential {
        /// Converts the result of Apple's dialog.
        ///
        /// - Parameter nonce: the nonce in the request.
        /// - Throws: `cancelled` if the user closed the dialog, which is not an error to show; `invalidAppleToken` for
        ///   anything else: open the dialog again.
        public init(
            _ result: Result<ASAuthorization, any Error>, nonce: AppleNonce
        ) throws(GatehouseError) {
            let authorization: ASAuthorization
            do {
                authorization = try result.get()
            } catch let error as ASAuthorizationError where error.code == .canceled {
                throw GatehouseError(.cancelled)
            } catch {
                throw GatehouseError(.invalidAppleToken, reason: "ASAuthorizationError \((error as NSError).code)")
            }
            guard let credential = authorization.credential as? ASAuthorizationAppleIDCredential,
                let token = credential.identityToken.flatMap({ String(data: $0, encoding: .utf8) })
            else { throw GatehouseError(.invalidAppleToken, reason: "no identity token") }
            let code = credential.authorizationCode.flatMap { String(data: $0, encoding: .utf8) }
            let name = credential.fullName
            self.init(
                identityToken: token, authorizationCode: code, nonce: nonce,
                // If Apple sends no name, the components are empty.
                fullName: name?.givenName == nil && name?.familyName == nil ? nil : name)
        }
    }
#endif
