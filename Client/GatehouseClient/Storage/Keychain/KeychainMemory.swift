#if canImport(Security)
    import CryptoKit
    import Foundation

    /// What a store knows as long as its process lives.
    struct KeychainMemory: Sendable {
        /// Keys that the user has unlocked, or that were made here.
        private var keys: [UUID: Redacted<SymmetricKey>] = [:]
        /// Keys that are not there any more: the enrolment has changed.
        private(set) var lost: Set<UUID> = []
        /// Whether this installation is marked.
        var isSettled = false

        subscript(id: UUID) -> SymmetricKey? { keys[id]?.value }

        mutating func remember(_ key: SymmetricKey, id: UUID) { keys[id] = Redacted(key) }

        mutating func lose(_ id: UUID) { lost.insert(id) }

        mutating func forgetKeys() { keys = [:] }

        mutating func merge(_ other: KeychainMemory) {
            keys.merge(other.keys) { _, newer in newer }
            lost.formUnion(other.lost)
            isSettled = isSettled || other.isSettled
        }
    }
#endif
