public import Foundation

/// The recipients of a push by their properties: the devices of the push's app that have each property named here.
///
/// A field that is not known is refused: without it the push would reach more devices than its caller meant.
public struct PushSegment: Codable, Sendable, Equatable {
    /// Versions of the app, compared number by number: 1.10 is later than 1.9, and 2 is 2.0.
    public struct Versions: Codable, Sendable, Equatable {
        /// The first version.
        public var from: String?
        /// The first version that is too late.
        public var below: String?

        public init(from: String? = nil, below: String? = nil) {
            self.from = from
            self.below = below
        }

        public init(from decoder: any Decoder) throws {
            let fields = try decoder.container(refusingOtherKeysThan: CodingKeys.self)
            from = try fields.decodeIfPresent(String.self, forKey: .from)
            below = try fields.decodeIfPresent(String.self, forKey: .below)
        }

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case from
            case below
        }
    }

    /// Tags of the user.
    public struct Tags: Codable, Sendable, Equatable {
        /// The user has each of them.
        public var all: [String]?
        /// The user has one of them.
        public var any: [String]?

        public init(all: [String]? = nil, any: [String]? = nil) {
            self.all = all
            self.any = any
        }

        public init(from decoder: any Decoder) throws {
            let fields = try decoder.container(refusingOtherKeysThan: CodingKeys.self)
            all = try fields.decodeIfPresent([String].self, forKey: .all)
            any = try fields.decodeIfPresent([String].self, forKey: .any)
        }

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case all
            case any
        }
    }

    /// Language tags. `de` means each locale in German, `de-AT` German in Austria.
    public var locales: [String]?
    /// Names of the IANA database.
    public var timeZones: [String]?
    public var appVersion: Versions?
    /// The device has registered since.
    public var lastSeenSince: Date?
    /// What the app said when it registered. A device that said nothing is in neither segment.
    public var alertsAllowed: Bool?
    public var tags: Tags?

    public init(
        locales: [String]? = nil, timeZones: [String]? = nil, appVersion: Versions? = nil, lastSeenSince: Date? = nil,
        alertsAllowed: Bool? = nil, tags: Tags? = nil
    ) {
        self.locales = locales
        self.timeZones = timeZones
        self.appVersion = appVersion
        self.lastSeenSince = lastSeenSince
        self.alertsAllowed = alertsAllowed
        self.tags = tags
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(refusingOtherKeysThan: CodingKeys.self)
        locales = try fields.decodeIfPresent([String].self, forKey: .locales)
        timeZones = try fields.decodeIfPresent([String].self, forKey: .timeZones)
        appVersion = try fields.decodeIfPresent(Versions.self, forKey: .appVersion)
        lastSeenSince = try fields.decodeIfPresent(Date.self, forKey: .lastSeenSince)
        alertsAllowed = try fields.decodeIfPresent(Bool.self, forKey: .alertsAllowed)
        tags = try fields.decodeIfPresent(Tags.self, forKey: .tags)
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case locales
        case timeZones
        case appVersion
        case lastSeenSince
        case alertsAllowed
        case tags
    }
}

/// `PUT` and `GET /internal/users/{id}/tags`: what the team calls a user, for segments of pushes.
public struct UserTags: Codable, Sendable, Equatable {
    public var tags: [String]

    public init(tags: [String]) {
        self.tags = tags
    }
}

private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// The fields of an object that has no other ones.
    fileprivate func container<Key: CodingKey & CaseIterable>(
        refusingOtherKeysThan keys: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        let known = Set(Key.allCases.map(\.stringValue))
        let others = try container(keyedBy: AnyKey.self).allKeys.filter { !known.contains($0.stringValue) }
        if let other = others.min(by: { $0.stringValue < $1.stringValue }) {
            throw DecodingError.typeMismatch(
                Key.self, .init(codingPath: codingPath + [other], debugDescription: "There is no such field."))
        }
        return try container(keyedBy: keys)
    }
}
