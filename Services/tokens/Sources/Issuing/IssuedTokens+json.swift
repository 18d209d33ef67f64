import Foundation

/// The contract's `AuthResponse`, written without an encoder. The user is kept as JSON, and nothing else in the answer
/// needs escaping. With an encoder every refresh would decode and encode the user, which costs as much as a database
/// round trip.
extension IssuedTokens {
    var json: String {
        """
        {"accessToken":"\(accessToken)","expiresAt":"\(UTCTime.text(expiresAt))","expiresIn":\(expiresIn),\
        "refreshExpiresAt":"\(UTCTime.text(refreshExpiresAt))","refreshExpiresIn":\(refreshExpiresIn),\
        "refreshToken":"\(refreshToken)","tokenType":"Bearer","user":\(profile)}
        """
    }

    /// RFC 6749 §5.1.
    var oauthJSON: String {
        """
        {"access_token":"\(accessToken)","expires_in":\(expiresIn),"refresh_token":"\(refreshToken)",\
        "token_type":"Bearer"}
        """
    }
}
