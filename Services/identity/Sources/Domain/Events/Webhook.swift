import Foundation

/// Where events are posted to, and the secret by which the receiver knows that they are Gatehouse's.
struct Webhook: Sendable {
    var url: URL
    var secret: String

    /// In bytes.
    static let minimumSecretLength = 16

    /// The address without what may be a secret in it: for metrics and logs.
    var name: String {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        parts?.query = nil
        parts?.user = nil
        parts?.password = nil
        return parts?.string ?? ""
    }
}
