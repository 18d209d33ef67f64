import Foundation
import GatehouseServiceContracts
import IdentityCore
import Postgres
import Sealing

/// Codes that were requested (table `codes`). The table contains no names, and does not depend on whether the
/// identifier belongs to an account.
struct CodeStore: Sendable {
    let database: PostgresPool
    let keys: CodeKeys
    let sealer: Sealer

    static let sealingPurpose = "gatehouse identity codes"

    /// A code that is about to be sent.
    struct New: Sendable {
        var id = UUID()
        var code = OneTimeCode()
        var link = SingleUseToken(.code)
        var identifier: Identifier
        var purpose: CodePurpose
    }

    enum Asking: Sendable {
        case kept(resendAfter: Int)
        /// The last code was requested too recently.
        /// - Parameter age: seconds since then.
        case wait(seconds: Int, age: Double)
    }

    /// Stores a code, unless the last one was requested too recently.
    /// - Parameters:
    ///   - address: the address of the client that asks. Other clients that ask for the same identifier do not delay
    ///     this one.
    ///   - admission: how the message was admitted.
    ///   - send: puts the message into the outbox, in the same transaction.
    func ask(
        _ new: New, from address: String, admission: AttemptLimits.Admission = .init(),
        send: (PostgresTransaction) async throws -> Void
    ) async throws -> Asking {
        let (subject, asker) = (keys.subject(new.identifier), keys.asker(address, admission.knownDevice))
        return try await database.withTransaction { transaction in
            // Serializes two simultaneous requests, so that each sees the other.
            try await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended(\(subject.current), 0))")
            let (asked, age) = try await transaction.query(
                """
                SELECT count(*), coalesce(extract(epoch FROM now() - max(created_at)), 0)::double precision FROM codes
                WHERE subject = ANY(\(subject.all)) AND network = ANY(\(asker.all)) AND purpose = \(new.purpose.rawValue)
                    AND created_at > now() - make_interval(secs => \(Double(CodeRules.memory)))
                """
            )[0].decode((Int, Double).self)
            if let wait = CodeRules.wait(after: asked, lastOneOfAge: age) { return .wait(seconds: wait, age: age) }
            let sealed = try sealer.seal(Data(new.identifier.value.utf8), context: Self.context(of: new.id))
            try await transaction.query(
                """
                INSERT INTO codes (id, subject, network, purpose, digest, link_digest, sealed, tries, expires_at)
                VALUES (\(new.id), \(subject.current), \(asker.current), \(new.purpose.rawValue),
                    \(keys.code(new.code, to: new.identifier, for: new.purpose.rawValue).current),
                    \(keys.link(new.link.text, of: new.id).current), \(sealed),
                    \(admission.reservesTries ? 0 : CodeRules.reservedTries),
                    now() + make_interval(secs => \(Double(CodeRules.lifetime))))
                """)
            try await send(transaction)
            return .kept(resendAfter: CodeRules.delay(after: asked + 1))
        }
    }

    /// A request for a code that was answered with 202.
    struct Request: Sendable {
        var id: UUID
        var identifier: Identifier
        /// Set where no message was sent (``repeatLast(_:byLink:)``): the purpose of the codes whose links are
        /// accepted.
        var repeats: CodePurpose?
    }

    /// - Returns: `nil` where its code is no longer valid.
    func request(_ id: UUID) async throws -> Request? {
        let found = try await database.query(
            """
            SELECT sealed, NULL::text FROM codes WHERE id = \(id) AND expires_at > now()
            UNION ALL
            SELECT sealed, purpose FROM code_repeats WHERE id = \(id) AND expires_at > now()
            """
        ).decode((Data, String?).self).first
        guard let (sealed, purpose) = found, let text = sealer.open(sealed, context: Self.context(of: id)),
            let value = String(validating: text, as: UTF8.self), let identifier = try? Identifier(value)
        else { return nil }
        return Request(id: id, identifier: identifier, repeats: purpose.map(CodePurpose.init(rawValue:)))
    }

    /// A code that was right, and is used up.
    struct Match: Sendable {
        var id: UUID
        var purpose: CodePurpose
    }

    /// A code that a guess is compared with.
    struct Open: Sendable {
        var id: UUID
        var payer: CodeRules.Payer
    }

    /// The codes that a guess is compared with: first those that the caller's network requested, then the newest. The
    /// allowance may have room for the first few only, and other clients may have requested newer ones.
    /// - Parameters:
    ///   - address: the address of the client that sends the guess.
    ///   - request: sent with the guess, which is then compared with the code of that request only.
    ///   - purposes: codes for other purposes are not compared.
    func open(
        _ identifier: Identifier, request: UUID?, from address: String, for purposes: [CodePurpose]
    ) async throws -> [Open] {
        try await database.query(
            """
            SELECT id, tries, tries_of_anybody FROM codes
            WHERE subject = ANY(\(keys.subject(identifier).all)) AND purpose = ANY(\(purposes.map(\.rawValue)))
                AND (\(request) IS NULL OR id = \(request)) AND used_at IS NULL AND expires_at > now()
            ORDER BY network = ANY(\(keys.asker(address, nil).all)) DESC, created_at DESC, id
            """
        ).decode((UUID, Int, Int).self).compactMap { id, tries, charged in
            CodeRules.payer(tries: tries, charged: charged, isBound: request != nil).map { Open(id: id, payer: $0) }
        }
    }

    /// The response to a request for which no message is sent. The codes that were sent before stay valid.
    ///
    /// All clients that ask for the same get the same request. It has no tries of its own. With it, the link of any
    /// open code is accepted: a link has 256 bits, and only the identifier's owner reads it. The link of another
    /// identifier is not accepted. Otherwise an attacker could sign a user in to the attacker's account.
    /// - Parameter byLink: whether messages contain links. Without links, a code whose tries are used up is of no use.
    /// - Returns: the request, and for how many seconds the last sent code is valid; `nil` where no code is open.
    func repeatLast(_ new: New, byLink: Bool) async throws -> (request: UUID, expiresIn: Int)? {
        let subject = keys.subject(new.identifier)
        let sealed = try sealer.seal(Data(new.identifier.value.utf8), context: Self.context(of: new.id))
        return try await database.query(
            """
            WITH newest AS (
                SELECT expires_at FROM codes
                WHERE subject = ANY(\(subject.all)) AND purpose = \(new.purpose.rawValue) AND used_at IS NULL
                    AND expires_at > now() + interval '1 second'
                    AND (\(byLink) OR tries_of_anybody < \(CodeRules.chargedTries))
                ORDER BY created_at DESC LIMIT 1)
            INSERT INTO code_repeats (id, subject, purpose, sealed, expires_at)
            SELECT \(new.id), \(subject.current), \(new.purpose.rawValue), \(sealed), expires_at FROM newest
            ON CONFLICT (subject, purpose) DO UPDATE SET expires_at = excluded.expires_at
            RETURNING id, floor(extract(epoch FROM expires_at - now()))::bigint
            """
        ).decode((UUID, Int).self).first.map { ($0.0, $0.1) }
    }

    /// Compares with codes that ``open(_:request:from:for:)`` has found. Counting the try and comparing are
    /// one statement, so that a race neither gives another try nor accepts a code twice.
    ///
    /// - Returns: `nil` where none is right.
    func verify(
        _ identifier: Identifier, by code: OneTimeCode, for purposes: [CodePurpose], among open: some Sequence<Open>
    ) async throws -> Match? {
        let right = purposes.flatMap { keys.code(code, to: identifier, for: $0.rawValue).all }
        let open = Array(open)
        let isReserved = open.first?.payer == .request
        let rows = try await database.query(
            """
            WITH open AS (
                SELECT id FROM codes
                WHERE id = ANY(\(open.map(\.id))) AND used_at IS NULL AND expires_at > now()
                    AND CASE WHEN \(isReserved) THEN tries - tries_of_anybody < \(CodeRules.reservedTries)
                        ELSE tries_of_anybody < \(CodeRules.chargedTries) END
                ORDER BY id FOR UPDATE)
            UPDATE codes SET
                tries = tries + 1,
                tries_of_anybody = tries_of_anybody + CASE WHEN \(isReserved) THEN 0 ELSE 1 END,
                used_at = CASE WHEN digest = ANY(\(right)) THEN now() END
            FROM open WHERE codes.id = open.id
            RETURNING codes.id, purpose, used_at IS NOT NULL, created_at
            """
        ).decode((UUID, String, Bool, Date).self)
        return rows.filter(\.2).max { $0.3 < $1.3 }.map { Match(id: $0.0, purpose: CodePurpose(rawValue: $0.1)) }
    }

    /// Compares with the link of the request's code or, where the request repeats others, with the links of all open
    /// codes. No try is counted, because 256 bits cannot be guessed.
    ///
    /// - Returns: `nil` where none is right.
    func verify(link token: String, of request: Request, for purposes: [CodePurpose]) async throws -> Match? {
        let searched = purposes.filter { request.repeats == nil || $0 == request.repeats }
        let open = try await database.query(
            """
            SELECT id, link_digest FROM codes
            WHERE subject = ANY(\(keys.subject(request.identifier).all))
                AND purpose = ANY(\(searched.map(\.rawValue))) AND (\(request.repeats != nil) OR id = \(request.id))
                AND used_at IS NULL AND expires_at > now()
            """
        ).decode((UUID, String).self)
        guard let right = open.first(where: { keys.link(token, of: $0.0).all.contains($0.1) }) else { return nil }
        return try await database.query(
            """
            UPDATE codes SET used_at = now() WHERE id = \(right.0) AND used_at IS NULL AND expires_at > now()
            RETURNING id, purpose
            """
        ).decode((UUID, String).self).first.map { Match(id: $0.0, purpose: CodePurpose(rawValue: $0.1)) }
    }

    /// Makes a used code valid again, because its action failed.
    func release(_ match: Match) async throws {
        try await database.query("UPDATE codes SET used_at = NULL WHERE id = \(match.id)")
    }

    /// Closes the other codes for the same purpose: a user who has verified the identifier no longer needs them.
    func close(_ identifier: Identifier, for purpose: CodePurpose) async throws {
        try await database.query(
            """
            UPDATE codes SET used_at = now()
            WHERE subject = ANY(\(keys.subject(identifier).all)) AND purpose = \(purpose.rawValue) AND used_at IS NULL
            """)
    }

    /// Binds the sealed identifier to its row.
    private static func context(of id: UUID) -> String {
        "code \(id.uuidString)"
    }
}

/// Accounts that a user signs in to by verifying an identifier with a code.
struct CodeAccountStore: Sendable {
    let database: PostgresPool

    /// The account that has verified the identifier before, or else a new account, for which it is now verified.
    func account(verifiedBy identifier: Identifier) async throws -> Account {
        // Two requests that verify the identifier at the same time may both create an account. One fails, retries, and
        // finds the other's.
        try await retryingConflicts {
            if let account = try await owner(of: identifier) { return account }
            return try await makeAccount(for: identifier)
        }
    }

    /// Marks an identifier of the user as verified.
    /// - Returns: whether the identifier is the user's.
    func verify(_ identifier: Identifier, of userID: UUID) async throws -> Bool {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(userID, on: transaction),
                let isVerified = try await Self.isVerified(identifier, by: userID, on: transaction)
            else { return false }
            if isVerified { return true }
            try await transaction.query(
                """
                UPDATE identifiers SET verified = true
                WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value) AND user_id = \(userID)
                """)
            try await AccountStore.touch(user, credentials: false, on: transaction)
            try await AuditStore.record(.identifierVerified, userID, by: .user, on: transaction)
            return true
        }
    }

    /// - Returns: `nil` where the identifier is not the user's.
    func isVerified(_ identifier: Identifier, by userID: UUID) async throws -> Bool? {
        try await Self.isVerified(identifier, by: userID, on: database)
    }

    /// - Returns: `nil` where the identifier is not the user's.
    private static func isVerified(
        _ identifier: Identifier, by userID: UUID, on database: some PostgresQuerying
    ) async throws -> Bool? {
        try await database.query(
            """
            SELECT verified FROM identifiers
            WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value) AND user_id = \(userID)
            """
        ).decode(Bool.self).first
    }

    /// The account that has verified the identifier.
    func owner(of identifier: Identifier) async throws -> Account? {
        try await database.query(
            """
            SELECT \(unescaped: Account.columns)
            FROM identifiers i JOIN users u ON u.id = i.user_id \(unescaped: Account.joins)
            WHERE i.kind = \(identifier.kind.rawValue) AND i.value = \(identifier.value) AND i.verified
            """
        ).first.map(Account.init)
    }

    /// - Returns: `nil` when another request has verified the identifier in between.
    private func makeAccount(for identifier: Identifier) async throws -> Account? {
        struct Taken: Error {}
        let id = UUID()
        do {
            return try await database.withRetriedTransaction { transaction in
                try await AccountStore.create([NewUser(id: id)], on: transaction)
                let isTheirs = try await IdentifierStore.claim(
                    identifier, for: id, isVerified: true, actor: .user, isNewUser: true, on: transaction)
                guard isTheirs else { throw Taken() }
                try await AuditStore.record(.registered, id, by: .user, on: transaction)
                return try await AccountStore.account(id, on: transaction)
            }
        } catch is Taken {
            return nil
        }
    }
}

extension CodeStore {
    static let expiredRows = [
        ExpiredRows(
            table: "codes", key: "id", condition: "created_at < now() - make_interval(secs => \(CodeRules.memory))"),
        ExpiredRows(table: "code_repeats", key: "id", condition: "expires_at < now()"),
    ]
}

extension SingleUseToken.Purpose {
    /// The same as the digits of a one-time code. The token is valid only with the id of the request that asked, or of
    /// one that was answered without a message for the same identifier and purpose. So its HMAC with that id is stored
    /// (``CodeKeys``), instead of the digest.
    static let code = Self(prefix: "ghlt_", lifetime: Double(CodeRules.lifetime))
}
