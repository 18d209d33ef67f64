// Pure: no I/O, no clock.

import Crypto
import Foundation
package import GatehouseServiceContracts

/// One entry of the audit log, as it is stored for the log's retention time.
struct AuditEntry: Sendable, Equatable {
    /// Its number in the log. The hash chain covers it through the order of the entries.
    var seq: Int64
    var id: Int64
    /// In microseconds since 1970, as PostgreSQL keeps it.
    var at: Int64
    /// The user that the entry is about.
    var userID: UUID
    var actor: String
    /// The acting user or operator; `nil` where the actor is unknown.
    var actorID: String?
    var event: String
    var detail: String?
    var sessionID: UUID?
    /// How often it happened.
    var count: Int
    var originDigest: [UInt8]?

    /// The bytes that the hash chain covers.
    var bytes: [UInt8] {
        var fields = AuditFields()
        fields.append(id)
        fields.append(at)
        fields.append(userID.uuidString)
        for field in [actor, actorID, event, detail] { fields.append(field) }
        fields.append(sessionID?.uuidString)
        fields.append(Int64(count))
        fields.append(originDigest)
        return fields.bytes
    }
}

/// What happened to an account. Features declare their events as static members, and list them for the application.
package struct AuditEvent: Hashable, Sendable {
    /// The stored name.
    package let rawValue: String
    /// The event that other systems see; `nil` where the entry is internal.
    package let published: AccountEventType?

    package init(_ rawValue: String, published: AccountEventType? = nil) {
        self.rawValue = rawValue
        self.published = published
    }
}

extension AuditEvent {
    /// Wrong credentials, refused merges, and attempts to sign in to a disabled account. One entry counts those of some
    /// minutes.
    static let signInRefused = Self("sign_in_refused")
    package static let deleted = Self("deleted", published: .userDeleted)
    /// An operator has read stored data about the user, or has searched for users.
    static let viewed = Self("viewed")

    package static let ofAudit = [signInRefused, deleted, viewed]
}

/// The party that acted.
package enum AuditActor: String, Sendable {
    case user, `operator`, apple, system
    /// A party that was not authenticated.
    case unknown
}

/// The address and client of an actor. All fields except the address are as the client reports them.
package struct AuditOrigin: Sendable, Equatable {
    package var address: String?
    package var userAgent: String?
    /// The device's own name, or its model where it has none.
    package var device: String?
    package var appVersion: String?

    /// In characters, of each field.
    static let maximumLength = 200

    init(address: String? = nil, userAgent: String? = nil, device: String? = nil, appVersion: String? = nil) {
        self.address = Self.shown(address)
        self.userAgent = Self.shown(userAgent)
        self.device = Self.shown(device)
        self.appVersion = Self.shown(appVersion)
    }

    /// A party that has the salt can verify that an entry was created with this origin. Without the salt the digest
    /// reveals nothing. The salt is needed because there are so few addresses that all of them could be tried.
    func digest(salt: [UInt8]) -> [UInt8] {
        var fields = AuditFields()
        fields.append(salt)
        for field in [address, userAgent, device, appVersion] { fields.append(field) }
        return Array(SHA256.hash(data: fields.bytes))
    }

    /// The text shortened, and without invisible characters.
    package static func shown(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        var visible = String.UnicodeScalarView()
        visible.append(contentsOf: text.unicodeScalars.lazy.prefix(maximumLength).filter { !Text.isDeceptive($0) })
        return visible.isEmpty ? nil : String(visible)
    }
}

/// Encodes fields one after the other, each with its length, so that two different lists never produce the same bytes.
struct AuditFields {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ field: [UInt8]?) {
        guard let field else { return bytes.append(0) }
        bytes.append(1)
        withUnsafeBytes(of: UInt32(field.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: field)
    }

    mutating func append(_ field: String?) {
        append(field.map { Array($0.utf8) })
    }

    mutating func append(_ field: Int64?) {
        append(field.map { String($0) })
    }
}

/// The counts of five minutes, or of an hour.
package struct AuditCount: Sendable, Equatable {
    /// When the period began, in seconds since 1970.
    package var at: Int64
    package var signIns = 0
    package var refusals = 0
    package var registrations = 0

    static func += (sum: inout AuditCount, part: AuditCount) {
        sum.signIns += part.signIns
        sum.refusals += part.refusals
        sum.registrations += part.registrations
    }

    /// The sum of all steps that began within the given seconds before `now`.
    package static func sum(of steps: [AuditCount], within seconds: Int64, before now: Int64) -> AuditCount {
        steps.reduce(into: AuditCount(at: now - seconds)) { sum, step in
            if step.at > now - seconds { sum += step }
        }
    }

    /// The last 24 clock hours, oldest first. The last one is the current hour.
    package static func hours(of steps: [AuditCount], before now: Int64) -> [AuditCount] {
        let present = now / 3600
        var hours = (present - 23...present).map { AuditCount(at: $0 * 3600) }
        for step in steps {
            let place = step.at / 3600 - present + 23
            if hours.indices.contains(Int(place)) { hours[Int(place)] += step }
        }
        return hours
    }
}

/// Counts refused attempts to open an account. The audit log has one entry for the attempts of some minutes, because
/// attackers decide how many there are.
struct RefusalTally: Sendable {
    struct Key: Hashable, Sendable {
        var userID: UUID
        /// The reason, as a fixed word.
        var detail: String
        /// The signed-in user.
        var by: UUID?
    }

    struct Refusals: Sendable, Equatable {
        var count = 1
        var since: ContinuousClock.Instant
        /// The origin of the latest attempt.
        var origin: AuditOrigin?
    }

    /// How long refusals are counted together.
    static let window = Duration.seconds(300)
    /// Users and reasons that are counted at the same time.
    static let capacity = 10_000

    private var counts: [Key: Refusals] = [:]

    var isEmpty: Bool { counts.isEmpty }

    /// - Returns: whether there was room to count it.
    mutating func note(_ key: Key, from origin: AuditOrigin?, at now: ContinuousClock.Instant) -> Bool {
        if var refusals = counts[key] {
            refusals.count += 1
            refusals.origin = origin
            counts[key] = refusals
            return true
        }
        guard counts.count < Self.capacity else { return false }
        counts[key] = Refusals(since: now, origin: origin)
        return true
    }

    /// Takes out the refusals whose window has ended.
    /// - Parameter all: takes out the rest, too.
    mutating func take(at now: ContinuousClock.Instant, all: Bool = false) -> [Key: Refusals] {
        let due = counts.filter { all || $0.value.since + Self.window <= now }
        for key in due.keys { counts[key] = nil }
        return due
    }

    /// Puts back refusals that could not be written.
    mutating func putBack(_ refusals: Refusals, for key: Key) {
        if var newer = counts[key] {
            newer.count += refusals.count
            newer.since = min(newer.since, refusals.since)
            counts[key] = newer
        } else {
            counts[key] = refusals
        }
    }
}
