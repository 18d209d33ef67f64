import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore

/// Imports and exports users as JSON Lines (`identity users import` and `export`).
struct UserTransfer: Sendable {
    let store: UserTransferStore
    let home: PhoneRegion?

    /// Lines that one statement creates.
    static let batch = 500
    /// Concurrent batches: while PostgreSQL works on one, others are read.
    static let width = 4
    /// Bytes of a line.
    private static let longestLine = 65_536

    /// The result of an import.
    struct Summary: Sendable, Encodable, Equatable {
        var lines = 0
        var created = 0
        /// Users that an earlier import created.
        var existing = 0
        var refused = 0
        /// All lines up to this one are done.
        var through = 0
    }

    /// A line that was refused.
    struct Flaw: Sendable, Equatable {
        var line: Int
        var reason: String
    }

    /// Creates the users of a file. Existing users are left unchanged, so an import may be repeated.
    /// - Parameters:
    ///   - first: the number of the line to begin with.
    ///   - isDry: whether nothing is written.
    ///   - refused: receives each line that is refused.
    ///   - progress: receives the summary so far, and how many bytes were read.
    /// - Throws: ``Interrupted``, with the error that ended the import early.
    func importUsers(
        from file: FileHandle, first: Int = 1, isDry: Bool = false, refused: (Flaw) -> Void,
        progress: (Summary, Int) -> Void
    ) async throws -> Summary {
        var reader = LineReader(file, longestLine: Self.longestLine)
        var summary = Summary()
        var addresses = ConvertedAddresses()
        do {
            while true {
                // A group of batches. All of them finish before the next group, so that progress ends at one line.
                var batches: [[(number: Int, bytes: [UInt8])]] = []
                while batches.count < Self.width, let lines = try batch(from: &reader) {
                    let wanted = lines.filter { $0.number >= first }
                    if !wanted.isEmpty { batches.append(wanted) }
                }
                if batches.isEmpty { break }
                var readings = await withTaskGroup(of: (Int, Reading).self) { group in
                    for (place, batch) in batches.enumerated() { group.addTask { (place, read(batch)) } }
                    return await group.reduce(into: [Int: Reading]()) { $0[$1.0] = $1.1 }.sorted { $0.key < $1.key }
                        .map(\.value)
                }
                for place in readings.indices { addresses.check(&readings[place]) }
                let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
                    for reading in readings { group.addTask { try await create(reading, isDry: isDry) } }
                    return try await group.reduce(into: [Outcome]()) { $0.append($1) }
                }
                for outcome in outcomes {
                    summary.lines += outcome.lines
                    summary.created += outcome.created
                    summary.existing += outcome.existing
                    summary.refused += outcome.flaws.count
                }
                for flaw in outcomes.flatMap(\.flaws).sorted(by: { $0.line < $1.line }) { refused(flaw) }
                summary.through = reader.count
                progress(summary, reader.offset)
            }
        } catch {
            throw Interrupted(through: summary.through, cause: error)
        }
        summary.through = reader.count
        return summary
    }

    /// The next lines that are not blank, with their numbers; `nil` at the end of the file.
    private func batch(from reader: inout LineReader) throws -> [(number: Int, bytes: [UInt8])]? {
        var lines: [(number: Int, bytes: [UInt8])] = []
        while lines.count < Self.batch, let line = try reader.next({ (number: $1, bytes: Array($0)) }) {
            if !line.bytes.allSatisfy({ " \r\t".utf8.contains($0) }) { lines.append(line) }
        }
        return lines.isEmpty ? nil : lines
    }

    /// An import that stopped early.
    struct Interrupted: Error, CustomStringConvertible {
        var through: Int
        var cause: any Error

        /// The cause, and the command's option with which to continue.
        var description: String {
            "\(cause) Everything up to line \(through) is done: continue with --from-line \(through + 1)."
        }
    }

    private struct Outcome: Sendable {
        var lines = 0
        var created = 0
        var existing = 0
        var flaws: [Flaw] = []
    }

    /// The users of a batch, and the lines that are none.
    private struct Reading: Sendable {
        var lines: Int
        var users: [(line: Int, user: ImportedUser)] = []
        var flaws: [Flaw] = []
    }

    /// The addresses whose domains are of another script. Each may have had two spellings, and two users, before.
    private struct ConvertedAddresses {
        private var lines: [String: Int] = [:]

        /// Refuses each user with the address of an earlier line.
        mutating func check(_ reading: inout Reading) {
            var kept: [(line: Int, user: ImportedUser)] = []
            for each in reading.users {
                guard let email = each.user.email, email.contains("xn--") else {
                    kept.append(each)
                    continue
                }
                if let first = lines[email] {
                    reading.flaws.append(
                        Flaw(line: each.line, reason: "email is the same address as in line \(first)."))
                } else {
                    lines[email] = each.line
                    kept.append(each)
                }
            }
            reading.users = kept
        }
    }

    private func read(_ lines: [(number: Int, bytes: [UInt8])]) -> Reading {
        var reading = Reading(lines: lines.count)
        for line in lines {
            do {
                let record = try StrictJSON.decode(UserRecord.self, from: line.bytes)
                reading.users.append(
                    (line.number, try ImportedUser(record, home: home, registry: store.registry, now: .now)))
            } catch let refusal as Refusal {
                reading.flaws.append(Flaw(line: line.number, reason: refusal.message))
            } catch {
                // Without the line's text, which is personal data.
                let field = (error as? Problem)?.errors.first.map { "\($0.field): \($0.message)" }
                reading.flaws.append(
                    Flaw(line: line.number, reason: field ?? "This is not a JSON object of a user."))
            }
        }
        return reading
    }

    private func create(_ reading: Reading, isDry: Bool) async throws -> Outcome {
        var outcome = Outcome(lines: reading.lines, flaws: reading.flaws)
        try await create(reading.users, isDry: isDry, &outcome)
        return outcome
    }

    /// Creates the users that do not exist yet. Where two have the same identifier, they are created one by one.
    private func create(
        _ users: [(line: Int, user: ImportedUser)], isDry: Bool, _ outcome: inout Outcome
    ) async throws {
        guard !users.isEmpty else { return }
        let found = try await store.found(users.map(\.user))
        var new: [(line: Int, user: ImportedUser)] = []
        for (each, found) in zip(users, found) {
            switch ImportDecision.decide(isNamed: each.user.isNamed, found: found) {
            case .create: new.append(each)
            case .exists: outcome.existing += 1
            case .taken(let reason): outcome.flaws.append(Flaw(line: each.line, reason: reason))
            }
        }
        guard !new.isEmpty else { return }
        if isDry {
            outcome.created += new.count
        } else if try await store.create(new.map(\.user)) {
            outcome.created += new.count
        } else if new.count == 1 {
            outcome.flaws.append(
                Flaw(line: new[0].line, reason: "Another user has just received an identifier or a credential."))
        } else {
            for each in new { try await create([each], isDry: isDry, &outcome) }
        }
    }
}

extension UserTransfer {
    /// Writes every user as a line, oldest first, a page at a time.
    /// - Parameters:
    ///   - last: the id of the last user written by an earlier run; the export continues after it.
    ///   - withHashes: whether to include password hashes. Verifying them needs the pepper's file.
    ///   - write: receives lines, with their line breaks.
    ///   - progress: receives the number of users written.
    /// - Throws: the error that stops the export.
    func exportUsers(
        after last: UUID? = nil, withHashes: Bool, _ write: (Data) throws -> Void, progress: (Int) -> Void
    ) async throws {
        var position: UserTransferStore.Position?
        if let last {
            guard let found = try await store.position(of: last) else {
                throw CommandFailure(description: "The user \(last.path) no longer exists.")
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
