import Bytes
import Foundation

/// The contract's `AuthResponse`, written without an encoder. The user is kept as JSON, and nothing else in the answer
/// needs escaping. With an encoder every refresh would decode and encode the user, which costs as much as a database
/// round trip.
extension IssuedTokens {
    var json: String {
        let end = UTCTime(secondsSince1970: expiresAt).rfc3339
        let refreshEnd = UTCTime(secondsSince1970: refreshExpiresAt).rfc3339
        return """
            {"accessToken":"\(accessToken)","expiresAt":"\(end)","expiresIn":\(expiresIn),\
            "refreshExpiresAt":"\(refreshEnd)","refreshExpiresIn":\(refreshExpiresIn),\
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
