import Foundation

/// The contract's `AuthResponse`, written without an encoder: the user is JSON already, and nothing else in it needs
/// escaping. It stands on the path of every refresh, where encoding and decoding the user again cost as much as
/// a database round trip.
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
