/// A store, site or tenant that a user belongs to, by the team's own name for it.
struct StoreID: Hashable, Sendable {
    let value: String

    /// - Parameter value: 1 to 64 visible characters.
    init(_ value: String) throws(Refusal) {
        guard (1...64).contains(value.count), value.utf8.count <= 128,
            !value.unicodeScalars.contains(where: { Text.isInvisible($0) || $0.properties.isWhitespace })
        else {
            throw Refusal("A store is 1 to 64 visible characters without spaces.")
        }
        self.value = value
    }
}

/// The stores of one user. All of them are in each access token, and percent-encoded in a header field of each request
/// that the gateway forwards.
struct StoreList: Hashable, Sendable {
    let ids: [StoreID]

    static let none = StoreList(unchecked: [])

    static let maximumCount = 50
    /// In bytes of the header field, with its commas. A token with so many is not longer than verifiers accept, and the
    /// field fits into a request head of 16 KiB.
    static let maximumLength = 3072

    init(_ values: [String]) throws(Refusal) {
        guard values.count <= Self.maximumCount else {
            throw Refusal("A user has at most \(Self.maximumCount) stores.")
        }
        var ids: [StoreID] = []
        for value in values { ids.append(try StoreID(value)) }
        let length = Self.length(of: ids)
        guard length <= Self.maximumLength else {
            throw Refusal(
                """
                These stores are too long together: \(length) bytes, of which access tokens have room for \
                \(Self.maximumLength). Other characters than A to Z, a to z, 0 to 9 and - . _ ~ count for three bytes \
                and more.
                """)
        }
        self.ids = ids
    }

    private init(unchecked ids: [StoreID]) {
        self.ids = ids
    }

    /// Of the percent-encoded names with commas between them.
    private static func length(of ids: [StoreID]) -> Int {
        ids.reduce(max(0, ids.count - 1)) { sum, id in
            id.value.utf8.reduce(sum) { $0 + (isUnreserved($1) ? 1 : 3) }
        }
    }

    /// RFC 3986 §2.3
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "A"..."Z", "a"..."z", "0"..."9", "-", ".", "_", "~": true
        default: false
        }
    }
}
