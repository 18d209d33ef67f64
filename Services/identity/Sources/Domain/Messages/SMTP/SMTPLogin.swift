import Foundation

/// With which name and password mail is handed in (RFC 4954).
struct SMTPLogin: Sendable, Equatable {
    var user: String
    var password: String

    /// RFC 4616.
    var plain: String { Data("\0\(user)\0\(password)".utf8).base64EncodedString() }
    var userBase64: String { Data(user.utf8).base64EncodedString() }
    var passwordBase64: String { Data(password.utf8).base64EncodedString() }
}
