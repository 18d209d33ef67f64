// Pure: no I/O, no clock.

import Foundation
import GatehouseBytes

/// Apple's server-to-server notification about a user (developer.apple.com, "Processing changes for Sign in with Apple
/// accounts").
struct AppleNotification: Sendable, Equatable {
    struct Event: Sendable, Equatable {
        var type: String
        var subject: String
        /// The private relay address, in the events about mail.
        var email: String?
        /// When the event happened, in seconds since 1970. A notification may arrive days late.
        var time: Double?
    }

    var issuer: String
    var audience: String
    var issuedAt: Int64
    var id: String
    var event: Event

    /// The action that a notification requires.
    enum Consequence: Equatable {
        /// The user has withdrawn the app's access at Apple. The sessions end; the user may sign in again.
        case endSessions
        /// The Apple account is gone.
        case unlink
        /// The user has decided whether mail to the private relay address is forwarded.
        case setMailForwarding(Bool)
        /// For unknown types: Apple may add some.
        case nothing
    }

    var consequence: Consequence {
        switch event.type {
        case "consent-revoked": .endSessions
        // Documented as "account-deleted", delivered as "account-delete" too.
        case "account-delete", "account-deleted": .unlink
        case "email-enabled": .setMailForwarding(true)
        case "email-disabled": .setMailForwarding(false)
        default: .nothing
        }
    }

    /// Seconds within which a notification may arrive. Its identifier is remembered for that time.
    static let lifetime: Int64 = 30 * 86_400

    /// When the event happened. Never later than the notification was issued.
    var happenedAt: Date {
        Date(timeIntervalSince1970: min(event.time ?? .infinity, Double(issuedAt)))
    }

    func isGenuine(for policy: AppleTokenPolicy, now: Int64) -> Bool {
        let (age, overflow) = now.subtractingReportingOverflow(issuedAt)
        return !overflow && age >= -policy.clockSkew && age <= Self.lifetime && policy.issuers.contains(issuer)
            && policy.clientIDs.contains(audience) && (1...256).contains(id.utf8.count)
    }
}
