import Foundation
import ServiceKit
import Verbatim

/// What Apple tells a team of its users unasked
/// (developer.apple.com, "Processing changes for Sign in with Apple accounts").
struct AppleNotification: Sendable, Equatable, Decodable {
    struct Event: Sendable, Equatable, Decodable {
        var type: String
        var subject: String
        /// When it happened, in seconds since 1970; a notification may be days late.
        var time: Double?

        enum CodingKeys: String, CodingKey {
            case type
            case subject = "sub"
            case time = "event_time"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            type = try container.decode(String.self, forKey: .type)
            subject = try container.decode(String.self, forKey: .subject)
            // Documented in seconds, delivered in milliseconds.
            time = try container.decodeIfPresent(Double.self, forKey: .time).map { time in
                time > 100_000_000_000 ? time / 1000 : time
            }
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
        // In spite of its name one event: JSON in a string, or, as documented, the object itself.
        if let text = try? container.decode(String.self, forKey: .events) {
            event = try StrictJSON.decode(Event.self, from: Array(text.utf8))
        } else {
            event = try container.decode(Event.self, forKey: .events)
        }
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

    /// When what it tells of happened, at the latest.
    var happenedAt: Date {
        Date(timeIntervalSince1970: min(event.time ?? .infinity, Double(issuedAt)))
    }

    func isGenuine(for policy: AppleTokenPolicy, now: Int64) -> Bool {
        let (age, overflow) = now.subtractingReportingOverflow(issuedAt)
        return !overflow && age >= -policy.clockSkew && age <= Self.lifetime && policy.issuers.contains(issuer)
            && policy.clientIDs.contains(audience) && (1...256).contains(id.utf8.count)
    }
}
