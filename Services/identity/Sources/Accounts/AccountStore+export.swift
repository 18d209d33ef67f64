import Contracts
import Foundation
import Postgres

extension AccountStore {
    func appleLink(of userID: UUID, deadline: ContinuousClock.Instant) async throws -> AccountExport.Apple? {
        try await database.query(
            "SELECT subject, client_id, email, created_at FROM apple_identities WHERE user_id = \(userID)",
            deadline: deadline
        ).decode((String, String, String?, Date).self).first.map { subject, clientID, email, linkedAt in
            AccountExport.Apple(subject: subject, clientId: clientID, email: email, linkedAt: linkedAt)
        }
    }

    /// - Returns: `nil` when the user has no phone number.
    func isPhoneVerified(of userID: UUID, deadline: ContinuousClock.Instant) async throws -> Bool? {
        try await database.query(
            "SELECT verified FROM identifiers WHERE user_id = \(userID) AND kind = 'phone'", deadline: deadline
        ).decode(Bool.self).first
    }

    func passwordChangedAt(_ userID: UUID, deadline: ContinuousClock.Instant) async throws -> Date? {
        try await database.query("SELECT changed_at FROM passwords WHERE user_id = \(userID)", deadline: deadline)
            .decode(Date.self).first
    }

    /// The devices on which the user has signed in, of which only when they served last can be told.
    func knownDevices(
        of userID: UUID, deadline: ContinuousClock.Instant
    ) async throws -> [AccountExport.KnownDevice] {
        try await database.query(
            "SELECT last_used_at FROM known_devices WHERE user_id = \(userID) ORDER BY last_used_at DESC",
            deadline: deadline
        ).decode(Date.self).map(AccountExport.KnownDevice.init)
    }

    /// The latest thousand of what happened to the account.
    func events(of userID: UUID, deadline: ContinuousClock.Instant) async throws -> [AccountExport.Event] {
        try await database.query(
            "SELECT at, actor, event FROM audit WHERE user_id = \(userID) ORDER BY at DESC, id DESC LIMIT 1000",
            deadline: deadline
        ).decode((Date, String, String).self).map { at, actor, event in
            AccountExport.Event(at: at, actor: actor, event: event)
        }
    }
}
