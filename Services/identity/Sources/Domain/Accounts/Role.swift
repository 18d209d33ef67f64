import Foundation

/// What a user may do in the team's own services; Gatehouse itself only carries it.
struct Role: Hashable, Sendable {
    let name: String

    /// What everybody who registers is.
    static let user = Role(unchecked: "user")

    /// - Parameter name: a lower-case letter, then up to 31 of `a–z 0–9 _ -`: it stands in access tokens and headers.
    init(_ name: String) throws(Refusal) {
        let scalars = name.unicodeScalars
        guard (1...32).contains(scalars.count), let first = scalars.first, ("a"..."z").contains(first),
            scalars.allSatisfy({
                ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "_" || $0 == "-"
            })
        else {
            throw Refusal("A role is a lower-case letter and up to 31 letters, digits, _ or -.")
        }
        self.name = name
    }

    private init(unchecked name: String) {
        self.name = name
    }
}

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

/// The stores of one user. All of them stand in each access token, and percent-encoded in a header of each request that
/// the gateway forwards.
struct StoreList: Hashable, Sendable {
    let ids: [StoreID]

    static let none = StoreList(unchecked: [])

    static let maximumCount = 50
    /// In bytes of the header's form, commas too. It keeps the token under the length that verifiers take, and leaves
    /// the header its place in a head of 16 KiB.
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
