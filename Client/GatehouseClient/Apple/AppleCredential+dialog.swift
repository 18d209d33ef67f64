#if canImport(AuthenticationServices)
    public import AuthenticationServices
    import Foundation

    extension AppleCredential {
        /// What Apple's dialog has given.
        ///
        /// - Parameter nonce: the one that the request was given.
        /// - Throws: `cancelled` where the user closed the dialog, which is no error to be shown; `invalidAppleToken` for
        ///   anything else: begin the dialog anew.
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
                identityToken: Redacted(token), authorizationCode: code.map { Redacted($0) }, nonce: nonce,
                // Where Apple tells no name it gives an empty one.
                fullName: name?.givenName == nil && name?.familyName == nil ? nil : name)
        }
    }
#endif
