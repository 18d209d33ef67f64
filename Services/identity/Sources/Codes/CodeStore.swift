import Contracts
import Foundation
import Postgres
import Sealing

/// Codes that were asked for (table `codes`). The table names nobody: whether the identifier belongs to an account makes
/// no difference to it.
struct CodeStore: Sendable {
    let database: PostgresPool
    let keys: CodeKeys
    let sealer: Sealer

    static let sealingPurpose = "gatehouse identity codes"

    /// A code that is about to be sent.
    struct New: Sendable {
        var id = UUID()
        var code = OneTimeCode()
        var link = LinkToken()
        var identifier: Identifier
        var purpose: CodePurpose
    }

    enum Asking: Sendable {
        case kept(resendAfter: Int)
        /// It is too soon.
        case wait(seconds: Int)
    }

    /// Keeps a code, unless the last one was asked for a moment ago.
    /// - Parameters:
    ///   - address: who asks. Others who ask for the same identifier make nobody wait.
    ///   - send: puts the message into the outbox, in the same transaction.
    func ask(
        _ new: New, from address: String, deadline: ContinuousClock.Instant,
        send: (PostgresTransaction) async throws -> Void
    ) async throws -> Asking {
        let (subject, network) = (keys.subject(new.identifier), keys.network(address))
        return try await database.withTransaction(deadline: deadline) { transaction in
            // Two that are asked for at the same moment are seen by each other.
            try await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended(\(subject.current), 0))")
            let (asked, age) = try await transaction.query(
                """
                SELECT count(*), coalesce(extract(epoch FROM now() - max(created_at)), 0)::double precision FROM codes
                WHERE subject = ANY(\(subject.all)) AND network = ANY(\(network.all)) AND purpose = \(new.purpose.rawValue)
                    AND created_at > now() - make_interval(secs => \(Double(CodeRules.memory)))
                """
            )[0].decode((Int, Double).self)
            if let wait = CodeRules.wait(after: asked, lastOneOfAge: age) { return .wait(seconds: wait) }
            let sealed = try sealer.seal(Data(new.identifier.value.utf8), context: Self.context(of: new.id))
            try await transaction.query(
                """
                INSERT INTO codes (id, subject, network, purpose, digest, link_digest, sealed, expires_at)
                VALUES (\(new.id), \(subject.current), \(network.current), \(new.purpose.rawValue),
                    \(keys.code(new.code, to: new.identifier, for: new.purpose.rawValue).current),
                    \(keys.link(new.link.text, of: new.id).current), \(sealed),
                    now() + make_interval(secs => \(Double(CodeRules.lifetime))))
                """)
            try await send(transaction)
            return .kept(resendAfter: CodeRules.delay(after: asked + 1))
        }
    }

    /// Where the code of a request was sent; `nil` where it is no longer valid.
    func identifier(of request: UUID, deadline: ContinuousClock.Instant) async throws -> Identifier? {
        let sealed = try await database.query(
            "SELECT sealed FROM codes WHERE id = \(request) AND expires_at > now()", deadline: deadline
        ).decode(Data.self).first
        guard let sealed, let text = sealer.open(sealed, context: Self.context(of: request)),
            let value = String(validating: text, as: UTF8.self)
        else { return nil }
        return try? Identifier(value)
    }

    /// What somebody shows.
    enum Answer: Sendable {
        /// - Parameter request: the name of the request that asked, where it is shown beside the code.
        case code(OneTimeCode, request: UUID?)
        case link(String, request: UUID)
    }

    /// A code that was right, and serves no more.
    struct Proof: Sendable {
        var id: UUID
        var purpose: CodePurpose
    }

    /// Compares with every code that is open for the identifier. Counting the try and comparing are one statement, so
    /// that no race gives another try, and no code serves twice.
    ///
    /// - Parameter purposes: other codes are not tried.
    /// - Returns: `nil` where none is right.
    func prove(
        _ identifier: Identifier, by answer: Answer, for purposes: [CodePurpose], deadline: ContinuousClock.Instant
    ) async throws -> Proof? {
        let right: [String]
        let request: UUID?
        switch answer {
        case .code(let code, let id):
            right = purposes.flatMap { keys.code(code, to: identifier, for: $0.rawValue).all }
            request = id
        case .link(let token, let id):
            right = keys.link(token, of: id).all
            request = id
        }
        let rows = try await database.query(
            """
            WITH open AS (
                SELECT id FROM codes
                WHERE subject = ANY(\(keys.subject(identifier).all)) AND purpose = ANY(\(purposes.map(\.rawValue)))
                    AND (\(request) IS NULL OR id = \(request)) AND used_at IS NULL AND expires_at > now()
                    AND tries < \(CodeRules.tries)
                    AND (\(request) IS NOT NULL OR tries_of_anybody < \(CodeRules.triesOfAnybody))
                ORDER BY id FOR UPDATE)
            UPDATE codes SET
                tries = tries + 1,
                tries_of_anybody = tries_of_anybody + CASE WHEN \(request) IS NULL THEN 1 ELSE 0 END,
                used_at = CASE WHEN digest = ANY(\(right)) OR link_digest = ANY(\(right)) THEN now() END
            FROM open WHERE codes.id = open.id
            RETURNING codes.id, purpose, used_at IS NOT NULL, created_at
            """, deadline: deadline
        ).decode((UUID, String, Bool, Date).self)
        return rows.filter(\.2).max { $0.3 < $1.3 }.map { Proof(id: $0.0, purpose: CodePurpose(rawValue: $0.1)) }
    }

    /// Lets a code serve after all, because nothing came of it.
    func release(_ proof: Proof) async throws {
        try await database.query("UPDATE codes SET used_at = NULL WHERE id = \(proof.id)")
    }

    /// Ends the other codes for the same: who has proved the identifier needs none of them.
    func close(_ identifier: Identifier, for purpose: CodePurpose, deadline: ContinuousClock.Instant) async throws {
        try await database.query(
            """
            UPDATE codes SET used_at = now()
            WHERE subject = ANY(\(keys.subject(identifier).all)) AND purpose = \(purpose.rawValue) AND used_at IS NULL
            """, deadline: deadline)
    }

    /// Binds the sealed identifier to its row.
    private static func context(of id: UUID) -> String {
        "code \(id.uuidString)"
    }
}
