#if canImport(Security)
    import CryptoKit
    import Foundation

    /// What a store knows as long as its process lives.
    struct KeychainMemory: Sendable {
        /// Keys that the user has unlocked, or that were made here.
        private var keys: [UUID: Redacted<SymmetricKey>] = [:]
        /// Keys that are not there any more: the enrolment has changed.
        private(set) var lost: Set<UUID> = []
        /// Keys that lie where an earlier configuration has put them.
        private(set) var misplaced: Set<UUID> = []
        /// Whether a step has deleted all keys before those that it has made.
        private var hasForgotten = false
        /// Whether this installation is marked.
        var isSettled = false

        subscript(id: UUID) -> SymmetricKey? { keys[id]?.value }

        mutating func remember(_ key: SymmetricKey, id: UUID, isMisplaced: Bool = false) {
            keys[id] = Redacted(key)
            if isMisplaced { misplaced.insert(id) }
        }

        mutating func lose(_ id: UUID) { lost.insert(id) }

        mutating func forgetKeys() { (keys, hasForgotten) = ([:], true) }

        /// Adds what a step has learnt that began with a copy of this.
        mutating func merge(_ other: KeychainMemory) {
            if other.hasForgotten { keys = [:] }
            keys.merge(other.keys) { _, newer in newer }
            lost.formUnion(other.lost)
            misplaced.formUnion(other.misplaced)
            isSettled = isSettled || other.isSettled
        }
    }
#endif
