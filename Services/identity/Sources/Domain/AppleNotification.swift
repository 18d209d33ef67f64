import Foundation

/// What Apple tells a team of its users unasked
/// (developer.apple.com, "Processing changes for Sign in with Apple accounts").
struct AppleNotification: Sendable, Equatable, Decodable {
    struct Event: Sendable, Equatable, Decodable {
        var type: String
        var subject: String

        enum CodingKeys: String, CodingKey {
            case type
            case subject = "sub"
        }
    }

    var issuer: String
    var audience: String
    var issuedAt: Int64
    var id: String
    var event: Event

    enum CodingKeys: String, CodingKey {
        case issuer = "iss"
        case audience = "aud"
        case issuedAt = "iat"
        case id = "jti"
        case events
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        issuer = try container.decode(String.self, forKey: .issuer)
        audience = try container.decode(String.self, forKey: .audience)
        issuedAt = try container.decode(Int64.self, forKey: .issuedAt)
        id = try container.decode(String.self, forKey: .id)
        // JSON in a string, in spite of its name one event.
        let text = try container.decode(String.self, forKey: .events)
        event = try JSONDecoder().decode(Event.self, from: Data(text.utf8))
    }

    /// What is to be done about it.
    enum Consequence: Equatable {
        /// The user has withdrawn the app's access at Apple: its sessions end, signing in again is possible.
        case endSessions
        /// The Apple account is gone.
        case unlink
        /// Mail forwarding and whatever Apple thinks of next.
        case nothing
    }

    var consequence: Consequence {
        switch event.type {
        case "consent-revoked": .endSessions
        // Documented with, delivered also without the "d".
        case "account-delete", "account-deleted": .unlink
        default: .nothing
        }
    }

    /// Seconds for which a notification may be on its way, and its identifier is remembered.
    static let lifetime: Int64 = 30 * 86_400

    func isGenuine(for policy: AppleTokenPolicy, now: Int64) -> Bool {
        let (age, overflow) = now.subtractingReportingOverflow(issuedAt)
        return !overflow && age >= -policy.clockSkew && age <= Self.lifetime && policy.issuers.contains(issuer)
            && policy.clientIDs.contains(audience) && (1...256).contains(id.utf8.count)
    }
}
