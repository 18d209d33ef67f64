import Crypto

/// A link of the chain over the audit log: it covers the entries after those of the link before, and that link.
///
/// The chain alone shows who changes an entry that a later link covers. Who may write the whole database could make a
/// new chain; the tag needs a key that is not there.
struct AuditSeal: Sendable, Equatable {
    /// From 1, without a gap.
    var number: Int64
    /// In microseconds since 1970, as is `previousAt`.
    var at: Int64
    /// When the link before was made: it may have been removed since, and tells whether that was too soon.
    var previousAt: Int64?
    /// The last entry that it covers.
    var lastID: Int64
    var count: Int
    /// The digest of the link before.
    var previous: [UInt8]
    var digest: [UInt8]
    var keyID: String
    var tag: [UInt8]

    /// What the first link names as the digest before it.
    static let beginning = [UInt8](repeating: 0, count: SHA256.byteCount)

    /// The link that follows `last`.
    /// - Parameter entries: at least one, in the order of their ids.
    init(after last: AuditSeal?, over entries: [AuditEntry], at: Int64, keyID: String, key: SymmetricKey) {
        number = (last?.number ?? 0) + 1
        self.at = at
        previousAt = last?.at
        lastID = entries.last?.id ?? 0
        count = entries.count
        previous = last?.digest ?? Self.beginning
        digest = []
        self.keyID = keyID
        tag = []
        digest = expectedDigest(over: entries)
        tag = Self.tag(of: digest, key: key)
    }

    /// The digest that a link with these fields has over these entries.
    func expectedDigest(over entries: [AuditEntry]) -> [UInt8] {
        var hash = SHA256()
        var fields = AuditFields()
        fields.append(number)
        fields.append(at)
        fields.append(previousAt)
        fields.append(lastID)
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

    /// From what is kept.
    init(
        number: Int64, at: Int64, previousAt: Int64?, lastID: Int64, count: Int, previous: [UInt8], digest: [UInt8],
        keyID: String, tag: [UInt8]
    ) {
        self.number = number
        self.at = at
        self.previousAt = previousAt
        self.lastID = lastID
        self.count = count
        self.previous = previous
        self.digest = digest
        self.keyID = keyID
        self.tag = tag
    }
}
