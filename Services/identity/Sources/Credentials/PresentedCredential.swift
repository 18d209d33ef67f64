import Contracts

/// The fields with which a signed-in user authenticates again, or to another account. A request presents one kind.
struct PresentedCredential: Sendable {
    var password: String?
    /// With a password or code of another account: its identifier.
    var identifier: String?
    var identityToken: String?
    var nonce: String?
    var code: String?
    var codeRequest: String?
    var linkToken: String?

    init(_ request: ReauthenticateRequest) {
        password = request.password
        identityToken = request.identityToken
        nonce = request.nonce
    }

    init(_ request: MergeRequest) {
        password = request.password
        identifier = request.identifier
        identityToken = request.identityToken
        nonce = request.nonce
        code = request.code
        codeRequest = request.codeRequest
        linkToken = request.linkToken
    }
}
