import Contracts
public import Foundation
import Postgres

extension UserTransfer {
    /// Writes every user as a line, oldest first, a page at a time.
    /// - Parameters:
    ///   - last: the id of the last user that was written before: goes on after that.
    ///   - withHashes: whether passwords' hashes are in it. They need the pepper's file, and guessing.
    ///   - write: gets lines, with their line breaks.
    ///   - progress: is told how many users were written.
    /// - Throws: what stops it.
    public func exportUsers(
        after last: UUID? = nil, withHashes: Bool, _ write: (Data) throws -> Void, progress: (Int) -> Void
    ) async throws {
        var position: UserImportStore.Position?
        if let last {
            guard let found = try await store.position(of: last) else {
                throw UserAdministration.Failure(description: "There is no user \(last.path) any more.")
            }
            position = found
        }
        var count = 0
        while true {
            let page = try await store.page(after: position, limit: 1000, withHashes: withHashes)
            guard let end = page.last, let id = end.id, let createdAt = end.createdAt else { return }
            var lines = Data()
            for record in page {
                lines.append(try JSON.encode(record))
                lines.append(UInt8(ascii: "\n"))
            }
            try write(lines)
            position = (createdAt, id)
            count += page.count
            progress(count)
        }
    }
}

extension UserImportStore {
    /// Where a user stands in the order in which they were made.
    typealias Position = (createdAt: Date, id: UUID)

    func position(of id: UUID) async throws -> Position? {
        try await database.query("SELECT created_at, id FROM users WHERE id = \(id)").first.map { row in
            let (createdAt, id) = try row.decode((Date, UUID).self)
            return (createdAt, id)
        }
    }

    /// Users in the order in which they were made, after `last`.
    func page(after last: Position?, limit: Int, withHashes: Bool) async throws -> [UserRecord] {
        try await database.query(
            """
            SELECT u.id, e.value, e.verified, p.value, p.verified, u.display_name, u.role, u.store_ids, u.state,
                CASE WHEN \(withHashes) THEN w.hash END, a.subject, a.client_id, a.email, u.created_at
            FROM users u \(unescaped: Account.joins)
            WHERE \(last?.id) IS NULL OR (u.created_at, u.id) > (\(last?.createdAt), \(last?.id))
            ORDER BY u.created_at, u.id LIMIT \(limit)
            """
        ).map { row in
            var record = UserRecord(id: try row.decode(column: 0))
            record.email = try row.decode(column: 1)
            record.emailVerified = try row.decode(column: 2)
            record.phone = try row.decode(column: 3)
            record.phoneVerified = try row.decode(column: 4)
            record.displayName = try row.decode(column: 5)
            record.role = try row.decode(column: 6)
            record.storeIds = try row.decode(column: 7)
            record.state = try row.decode(column: 8)
            record.passwordHash = try row.decode(column: 9)
            if let subject: String = try row.decode(column: 10) {
                record.apple = UserRecord.Apple(
                    subject: subject, clientId: try row.decode(column: 11), email: try row.decode(column: 12))
            }
            record.createdAt = try row.decode(column: 13)
            return record
        }
    }
}
