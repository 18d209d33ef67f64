import Foundation
import ServiceKit

extension AppleNotification: Decodable {
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
        // In spite of the name it is one event. Apple sends it as JSON in a string, and documents the object itself.
        if let text = try? container.decode(String.self, forKey: .events) {
            event = try StrictJSON.decode(Event.self, from: Array(text.utf8))
        } else {
            event = try container.decode(Event.self, forKey: .events)
        }
    }
}

extension AppleNotification.Event: Decodable {
    enum CodingKeys: String, CodingKey {
        case type
        case subject = "sub"
        case email
        case time = "event_time"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        type = try container.decode(String.self, forKey: .type)
        subject = try container.decode(String.self, forKey: .subject)
        email = try container.decodeIfPresent(String.self, forKey: .email)
        // Documented in seconds, delivered in milliseconds.
        time = try container.decodeIfPresent(Double.self, forKey: .time).map { time in
            time > 100_000_000_000 ? time / 1000 : time
        }
    }
}
