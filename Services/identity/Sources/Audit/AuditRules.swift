import Crypto
import Foundation

/// One entry of the audit log, as it is kept for as long as the log is.
struct AuditEntry: Sendable, Equatable {
    var id: Int64
    /// In microseconds since 1970, as PostgreSQL keeps it.
    var at: Int64
    /// Whom it happened to.
    var userID: UUID
    var actor: String
    /// Which user or operator; `nil` where nobody knows.
    var actorID: String?
    var event: String
    var detail: String?
    var sessionID: UUID?
    /// How often it happened.
    var count: Int
    var originDigest: [UInt8]?

    /// What the chain of hashes covers.
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

/// What happened to an account.
enum AuditEvent: String, Sendable, CaseIterable {
    case registered
    case signedIn = "signed_in"
    /// Wrong passwords, codes and Apple tokens, merges that were refused, and attempts to sign in to a disabled account.
    /// One entry counts those of some minutes.
    case signInRefused = "sign_in_refused"
    case profileChanged = "profile_changed"
    /// An identifier became the user's, or was proved.
    case identifierChanged = "identifier_changed"
    case identifierLost = "identifier_lost"
    /// By the user or an operator.
    case identifierRemoved = "identifier_removed"
    /// A change was undone by whoever reads at the former one.
    case identifierRestored = "identifier_restored"
    case identifierVerified = "identifier_verified"
    case messageRefused = "message_refused"
    /// A message that was sent has come back.
    case messageBounced = "message_bounced"
    case passwordChanged = "password_changed"
    case passwordReset = "password_reset"
    case passwordRemoved = "password_removed"
    /// Somebody who was signed in has proved again who they are.
    case reauthenticated
    case appleLinked = "apple_linked"
    case appleUnlinked = "apple_unlinked"
    case appleConsentRevoked = "apple_consent_revoked"
    case appleTransferred = "apple_transferred"
    case roleChanged = "role_changed"
    case disabled
    case enabled
    /// The account has become part of another one of the same person, which the entry names.
    case merged
    /// Another account has become part of this one.
    case absorbed
    case deleted
    /// An operator has ended one session, or all of them.
    case sessionEnded = "session_ended"
    case sessionsEnded = "sessions_ended"
    /// A session has ended, for the reason that tokens has told.
    case sessionRevoked = "session_revoked"
    /// An operator has read what is kept of the user, or has looked for users.
    case viewed
}

/// Who did it.
enum AuditActor: String, Sendable {
    case user, `operator`, apple, system
    /// Somebody who did not prove who they are.
    case unknown
}

/// Where somebody was who did something, and with which client: as the client says, except the address.
struct AuditOrigin: Sendable, Equatable {
    var address: String?
    var userAgent: String?
    /// The device's own name, or else its model.
    var device: String?
    var appVersion: String?

    /// In characters, of each field.
    static let maximumLength = 200

    init(address: String? = nil, userAgent: String? = nil, device: String? = nil, appVersion: String? = nil) {
        self.address = Self.shown(address)
        self.userAgent = Self.shown(userAgent)
        self.device = Self.shown(device)
        self.appVersion = Self.shown(appVersion)
    }

    /// Proves, to who has the salt, that an entry was made with this origin. Without the salt it tells nothing: there
    /// are so few addresses that one could try all.
    func digest(salt: [UInt8]) -> [UInt8] {
        var fields = AuditFields()
        fields.append(salt)
        for field in [address, userAgent, device, appVersion] { fields.append(field) }
        return Array(SHA256.hash(data: fields.bytes))
    }

    /// Bounded, and without what a reader would not see.
    static func shown(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        var visible = String.UnicodeScalarView()
        visible.append(contentsOf: text.unicodeScalars.lazy.prefix(maximumLength).filter { !Text.isDeceptive($0) })
        return visible.isEmpty ? nil : String(visible)
    }
}

/// Fields one after the other, each with its length, so that no two lists of fields give the same bytes.
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

/// How much happened in five minutes, or in an hour.
struct AuditCount: Sendable, Equatable {
    /// When the time began, in seconds since 1970.
    var at: Int64
    var signIns = 0
    var refusals = 0
    var registrations = 0

    static func += (sum: inout AuditCount, part: AuditCount) {
        sum.signIns += part.signIns
        sum.refusals += part.refusals
        sum.registrations += part.registrations
    }

    /// All steps that began within so many seconds before `now`, added up.
    static func sum(of steps: [AuditCount], within seconds: Int64, before now: Int64) -> AuditCount {
        steps.reduce(into: AuditCount(at: now - seconds)) { sum, step in
            if step.at > now - seconds { sum += step }
        }
    }

    /// The last 24 hours of the clock, oldest first. The last one is the present hour.
    static func hours(of steps: [AuditCount], before now: Int64) -> [AuditCount] {
        let present = now / 3600
        var hours = (present - 23...present).map { AuditCount(at: $0 * 3600) }
        for step in steps {
            let place = step.at / 3600 - present + 23
            if hours.indices.contains(Int(place)) { hours[Int(place)] += step }
        }
        return hours
    }
}

/// Counts refused attempts to open an account. The audit log has one entry for those of some minutes, because attackers
/// decide how many there are.
struct RefusalTally: Sendable {
    struct Key: Hashable, Sendable {
        var userID: UUID
        /// Why: a word of ours.
        var detail: String
        /// The user who is signed in.
        var by: UUID?
    }

    struct Refusals: Sendable, Equatable {
        var count = 1
        var since: ContinuousClock.Instant
        /// Of the latest.
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

    /// Takes out what has been counted for long enough.
    /// - Parameter all: takes out the rest, too.
    mutating func take(at now: ContinuousClock.Instant, all: Bool = false) -> [Key: Refusals] {
        let due = counts.filter { all || $0.value.since + Self.window <= now }
        for key in due.keys { counts[key] = nil }
        return due
    }

    /// Puts back what could not be written.
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
