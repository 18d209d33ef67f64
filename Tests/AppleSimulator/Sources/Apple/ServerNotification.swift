import Foundation

/// The request of `POST /simulator/notification`.
struct NotificationRequest: Codable, Sendable {
    /// `email-enabled`, `email-disabled`, `consent-revoked`, `account-delete`, or a test's own value.
    var type: String
    var sub: String
    /// For `email-enabled` and `email-disabled`.
    var email: String?
    /// By default the configured one.
    var audience: String?
    /// The time of the event in seconds since 1970; by default now.
    var eventTime: Int?
    /// Whether `events` is the object that Apple documents, instead of the string that it sends.
    var eventsAsObject: Bool?
}

/// The body that Apple would send to the app's server.
struct NotificationResponse: Codable, Sendable {
    var payload: String
}

/// The claims of a server-to-server notification. `events` is one event, as JSON in a string or as an object.
struct NotificationClaims: Codable {
    struct Event: Codable {
        var type: String
        var sub: String
        /// Milliseconds.
        var event_time: Int
        var email: String?
        var is_private_email: String?
    }

    enum Events: Codable {
        case text(String)
        case object(Event)

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                self = .text(text)
            } else {
                self = .object(try Event(from: decoder))
            }
        }

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .text(let text): try text.encode(to: encoder)
            case .object(let event): try event.encode(to: encoder)
            }
        }
    }

    var iss: String
    var aud: String
    var iat: Int
    var exp: Int
    var jti: String
    var events: Events

    /// - Parameter now: seconds since 1970.
    init(_ request: NotificationRequest, issuer: String, audience: String, now: Int) throws {
        iss = issuer
        aud = request.audience ?? audience
        iat = now
        exp = now + 86_400
        jti = UUID().uuidString.lowercased()
        let event = Event(
            type: request.type, sub: request.sub, event_time: (request.eventTime ?? now) * 1_000, email: request.email,
            is_private_email: request.email.map { $0.hasSuffix("@privaterelay.appleid.com") ? "true" : "false" })
        events =
            request.eventsAsObject == true
            ? .object(event) : .text(String(decoding: try JSONEncoder().encode(event), as: UTF8.self))
    }
}
