// Pure: no I/O, no clock.

import Crypto

/// A link of the hash chain over the audit log. It covers the previous link and the entries since then.
///
/// The chain alone reveals a changed entry that a later link covers. An attacker who can write the whole database could
/// create a new chain, but not its tags: their key is not in the database.
package struct AuditSeal: Sendable, Equatable {
    /// From 1, without a gap.
    package var number: Int64
    /// In microseconds since 1970, as is `previousAt`.
    var at: Int64
    /// When the previous link was created. That link may have been removed since; its time shows whether the removal
    /// was too early.
    var previousAt: Int64?
    /// The number of the last entry that the link covers.
    var lastSeq: Int64
    var count: Int
    /// The digest of the previous link.
    var previous: [UInt8]
    package var digest: [UInt8]
    var keyID: String
    var tag: [UInt8]

    /// The previous digest of the first link.
    static let beginning = [UInt8](repeating: 0, count: SHA256.byteCount)

    /// The link that follows `last`.
    /// - Parameter entries: at least one, in the order of their numbers.
    init(after last: AuditSeal?, over entries: [AuditEntry], at: Int64, keyID: String, key: SymmetricKey) {
        number = (last?.number ?? 0) + 1
        self.at = at
        previousAt = last?.at
        lastSeq = entries.last?.seq ?? 0
        count = entries.count
        previous = last?.digest ?? Self.beginning
        digest = []
        self.keyID = keyID
        tag = []
        digest = expectedDigest(over: entries)
        tag = Self.tag(of: digest, key: key)
    }

    /// The digest that a link with these fields must have over these entries.
    func expectedDigest(over entries: [AuditEntry]) -> [UInt8] {
        var hash = SHA256()
        var fields = AuditFields()
        fields.append(number)
        fields.append(at)
        fields.append(previousAt)
        fields.append(lastSeq)
        fields.append(Int64(count))
        fields.append(previous)
        hash.update(data: fields.bytes)
        for entry in entries {
            var framed = AuditFields()
            framed.append(entry.bytes)
            hash.update(data: framed.bytes)
        }
        return Array(hash.finalize())
    }

    func isTagged(under key: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: digest, using: key)
    }

    private static func tag(of digest: [UInt8], key: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: digest, using: key))
    }

    /// From the stored row.
    init(
        number: Int64, at: Int64, previousAt: Int64?, lastSeq: Int64, count: Int, previous: [UInt8], digest: [UInt8],
        keyID: String, tag: [UInt8]
    ) {
        self.number = number
        self.at = at
        self.previousAt = previousAt
        self.lastSeq = lastSeq
        self.count = count
        self.previous = previous
        self.digest = digest
        self.keyID = keyID
        self.tag = tag
    }
}

/// Follows the chain over the audit log from its oldest link to its newest, and notes where it is broken.
package struct AuditVerification: Sendable {
    /// The flaws found, in words for the operator.
    package private(set) var flaws: [String] = []
    package private(set) var seals = 0
    package private(set) var entries = 0
    /// Links whose tag was made under a key that has been removed. Only their hashes were compared.
    package private(set) var withoutKey = 0
    package private(set) var first: AuditSeal?
    package private(set) var last: AuditSeal?

    /// Flaws that are listed one by one.
    static let mostFlaws = 100

    /// Checks the next link and the entries that it covers.
    /// - Parameter key: the key that the link names, if it still exists.
    mutating func check(_ seal: AuditSeal, over found: [AuditEntry], key: SymmetricKey?) {
        if let last {
            if seal.number != last.number + 1 {
                note("Seals are missing between \(last.number) and \(seal.number).")
            } else if seal.previous != last.digest || seal.previousAt != last.at {
                note("Seal \(seal.number) does not follow from seal \(last.number).")
            }
        } else {
            first = seal
            if seal.number == 1, seal.previous != AuditSeal.beginning || seal.previousAt != nil {
                note("Seal 1 does not begin the chain.")
            }
        }
        if found.count != seal.count {
            note("Seal \(seal.number) covers \(seal.count) entries, and \(found.count) are there.")
        } else if seal.expectedDigest(over: found) != seal.digest {
            note("An entry up to number \(seal.lastSeq) or its seal, \(seal.number), has been changed.")
        }
        if let key {
            if !seal.isTagged(under: key) { note("Seal \(seal.number) was not made by this service.") }
        } else {
            withoutKey += 1
        }
        seals += 1
        entries += found.count
        last = seal
    }

    /// Checks, at the end, that nothing is missing before the first link.
    /// - Parameters:
    ///   - keptSince: entries from then on are kept, in microseconds since 1970; `nil` where all are kept.
    mutating func checkBeginning(keptSince: Int64?) {
        guard let first, first.number > 1 else { return }
        guard let keptSince else { return note("The log begins with seal \(first.number), and all are to be kept.") }
        guard let previousAt = first.previousAt, previousAt < keptSince else {
            return note("The log begins with seal \(first.number). What was before it was removed too soon.")
        }
    }

    /// Checks, at the end, that a link that the operator noted elsewhere is unchanged.
    mutating func check(noted number: Int64, found: AuditSeal?, digest: [UInt8]) {
        guard let found else {
            if number > (last?.number ?? 0) {
                note("Seal \(number), which was noted, is not there: the end is missing.")
            }
            return
        }
        if found.digest != digest { note("Seal \(number) is another one than was noted.") }
    }

    /// Checks, at the end, how long entries have waited for their seal.
    /// - Parameter seconds: the age of the oldest entry without one; `nil` where all are sealed.
    mutating func checkEnd(unsealedFor seconds: Double?) {
        guard let seconds, seconds > 600 else { return }
        note("Entries have not been sealed for \(Int(seconds)) s: see identity_audit_oldest_unsealed_seconds.")
    }

    /// Checks, at the end, that every entry has a number, so that it is or will be sealed.
    mutating func checkNumbers(missing count: Int) {
        if count > 0 { note("\(count) entries were kept from being sealed.") }
    }

    private mutating func note(_ flaw: String) {
        if flaws.count < Self.mostFlaws {
            flaws.append(flaw)
        } else if flaws.count == Self.mostFlaws {
            flaws.append("There is more.")
        }
    }
}
