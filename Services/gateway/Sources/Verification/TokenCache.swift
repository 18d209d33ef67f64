// Pure: no I/O, no clock.

import Crypto
import Foundation

/// Recently verified tokens, by their SHA-256 digest. One cache for each event loop.
///
/// A full cache replaces a token that was not used since the hand last passed it (the clock algorithm). It removes one
/// entry at a time, because removing thousands at once would stall every connection of the event loop.
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

        /// A part of a digest is uniformly distributed already, and only verified tokens are entered.
        func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
    }

    private struct Entry {
        let digest: Digest
        let token: VerifiedToken
        var wasUsed = false
    }

    private let capacity: Int
    private var entries: [Entry] = []
    /// The index in `entries` of each token.
    private var indices: [Digest: Int] = [:]
    private var hand = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The token of the digest, if it has not expired and is current: the keys that verified it are in force.
    mutating func token(_ digest: Digest, now: Int64, isCurrent: (VerifiedToken) -> Bool) -> VerifiedToken? {
        guard let index = indices[digest] else { return nil }
        let token = entries[index].token
        guard now < token.expiresAt, isCurrent(token) else { return nil }
        entries[index].wasUsed = true
        return token
    }

    mutating func insert(_ token: VerifiedToken, as digest: Digest) {
        let entry = Entry(digest: digest, token: token)
        if let index = indices[digest] {
            entries[index] = entry
        } else if entries.count < capacity {
            indices[digest] = entries.count
            entries.append(entry)
        } else {
            while entries[hand].wasUsed {
                entries[hand].wasUsed = false
                moveHand()
            }
            indices[entries[hand].digest] = nil
            indices[digest] = hand
            entries[hand] = entry
            moveHand()
        }
    }

    private mutating func moveHand() { hand = hand + 1 == entries.count ? 0 : hand + 1 }

    var count: Int { entries.count }
}
