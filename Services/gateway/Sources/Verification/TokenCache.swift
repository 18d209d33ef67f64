import Crypto

/// Tokens that were verified of late, by their SHA-256 digest. One for each event loop.
///
/// Holds at most `capacity` in two halves: when the young half is full it becomes the old one, and what was not used
/// since is forgotten with the next change.
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

    private let half: Int
    private var young: [Digest: VerifiedToken] = [:]
    private var old: [Digest: VerifiedToken] = [:]

    init(capacity: Int) { half = max(1, capacity / 2) }

    /// The token of that digest, if the key set of `generation` vouched for it and it has not expired.
    mutating func token(_ digest: Digest, generation: Int, now: Int64) -> VerifiedToken? {
        if let token = young[digest] {
            if token.generation == generation, now < token.expiresAt { return token }
            young[digest] = nil
        } else if let token = old.removeValue(forKey: digest), token.generation == generation, now < token.expiresAt {
            insert(token, as: digest)
            return token
        }
        return nil
    }

    mutating func insert(_ token: VerifiedToken, as digest: Digest) {
        if young.count >= half {
            swap(&old, &young)
            young.removeAll(keepingCapacity: true)
        }
        young[digest] = token
    }

    var count: Int { young.count + old.count }
}
