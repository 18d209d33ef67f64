/// `POST /internal/messages/bounces`: a message that was taken and has come back.
public struct BounceReport: Codable, Sendable {
    /// To whom it went: an e-mail address or a phone number.
    public var identifier: String
    /// Why, as in a delivery status notification: `5.1.1` (RFC 3463). Only permanent failures are bounces.
    public var status: String?

    public init(identifier: String, status: String? = nil) {
        self.identifier = identifier
        self.status = status
    }
}
