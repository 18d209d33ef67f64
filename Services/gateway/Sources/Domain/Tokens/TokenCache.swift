import Crypto

/// Tokens that were verified of late, by their SHA-256 digest. One for each event loop.
///
/// Holds at most `capacity`. When it is full each new one takes the place of one that was not asked for since the clock's
/// hand passed it last (the clock algorithm): one is let go at a time, since letting go of thousands at once keeps every
/// connection of the loop waiting.
struct TokenCache {
    struct Digest: Hashable {
        fileprivate let words: (UInt64, UInt64, UInt64, UInt64)

        init(_ token: UnsafeRawBufferPointer) {
            var hash = SHA256()
            hash.update(bufferPointer: token)
            words = hash.finalize().withUnsafeBytes {
                $0.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
            }
        }

        static func == (one: Digest, other: Digest) -> Bool { one.words == other.words }

        /// A part of a digest is as good as a hash of it, and only genuine tokens get in.
        func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
    }

    private struct Entry {
        let digest: Digest
        let token: VerifiedToken
        var wasUsed = false
    }

    private let capacity: Int
    private var entries: [Entry] = []
    /// Where in `entries` each is.
    private var places: [Digest: Int] = [:]
    private var hand = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The token of that digest, if it has not expired and is current: the keys that vouched for it are in force.
    mutating func token(_ digest: Digest, now: Int64, isCurrent: (VerifiedToken) -> Bool) -> VerifiedToken? {
        guard let place = places[digest] else { return nil }
        let token = entries[place].token
        guard now < token.expiresAt, isCurrent(token) else { return nil }
        entries[place].wasUsed = true
        return token
    }

    mutating func insert(_ token: VerifiedToken, as digest: Digest) {
        let entry = Entry(digest: digest, token: token)
        if let place = places[digest] {
            entries[place] = entry
        } else if entries.count < capacity {
            places[digest] = entries.count
            entries.append(entry)
        } else {
            while entries[hand].wasUsed {
                entries[hand].wasUsed = false
                moveHand()
            }
            places[entries[hand].digest] = nil
            places[digest] = hand
            entries[hand] = entry
            moveHand()
        }
    }

    private mutating func moveHand() { hand = hand + 1 == entries.count ? 0 : hand + 1 }

    var count: Int { entries.count }
}
