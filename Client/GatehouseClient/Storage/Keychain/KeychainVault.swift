#if canImport(Security)
    import CryptoKit
    import Foundation

    /// The operations of a ``KeychainTokenStore``. They block on the Keychain: never call them on one of Swift's
    /// threads.
    ///
    /// If the policy demands it, the session is encrypted in an item that can be replaced at any time. Its key is in
    /// another item that only the user's authentication unlocks. So a background refresh needs no dialog, and the
    /// session is replaced atomically. A device that cannot authenticate its user stores the session without
    /// encryption, until it can.
    struct KeychainVault: Sendable {
        let policy: KeychainUnlockPolicy
        /// Whether the stored session is encrypted, as of the last operation.
        let isSealed = Locked(false)
        private let discardsAfterReinstall: Bool
        private let item: KeychainItem
        private let keys: KeychainUnlockKeys
        private let installation: KeychainInstallation
        let signOut: KeychainSignOut

        init(_ options: KeychainTokenStore.Options, installation: KeychainInstallation? = nil) {
            policy = KeychainUnlockPolicy(file: options.file("unlock-policy"), initial: options.unlockPolicy)
            discardsAfterReinstall = options.afterReinstall.discards
            item = KeychainItem(service: options.service, account: options.account, accessGroup: options.accessGroup)
            keys = KeychainUnlockKeys(
                service: "\(options.service).\(options.account).unlock", accessGroup: options.accessGroup)
            self.installation = installation ?? options.installation
            signOut = KeychainSignOut(file: options.file("signed-out"))
        }

        func load(_ memory: inout KeychainMemory) throws(TokenStoreError) -> Data? {
            try settle(&memory)
            guard let found = try item.read() else { return nil }
            let envelope = try KeychainEnvelope(found.data)
            note(envelope)
            let data = try open(envelope, memory)
            let isMisplaced = envelope.keyID.map(memory.misplaced.contains) ?? false
            let isOutdated = try isOutdated(envelope)
            if !found.isCurrent || isMisplaced || isOutdated {
                // Reading has succeeded. If this migration fails, the next save migrates the item.
                try? write(data, replacing: envelope, &memory)
            }
            return data
        }

        func save(_ data: Data, _ memory: inout KeychainMemory) throws(TokenStoreError) {
            try settle(&memory)
            var old: KeychainEnvelope?
            do {
                old = try item.read().map { found throws(TokenStoreError) in try KeychainEnvelope(found.data) }
            } catch {
                // Replace a damaged item, but keep one that a later version can read.
                guard error.code == .corrupt else { throw error }
            }
            try write(data, replacing: old, &memory)
        }

        func delete(_ memory: inout KeychainMemory) throws(TokenStoreError) {
            try item.delete()
            try keys.deleteAll()
            try signOut.set(false)
            memory.forgetKeys()
            isSealed.withLock { $0 = false }
        }

        func unlock(reason: String, _ memory: inout KeychainMemory) throws(TokenStoreError) {
            guard let item = try item.read(), case .sealed(let id, _, let policy) = try KeychainEnvelope(item.data),
                memory[id] == nil
            else { return }
            guard let found = try keys.read(id, by: policy, reason: reason) else {
                memory.lose(id)
                return
            }
            memory.remember(found.key, id: id, isMisplaced: !found.isCurrent)
        }

        /// Shows the system's dialog before a change of the policy.
        func authenticate(toSet new: UnlockPolicy, reason: String) throws(TokenStoreError) {
            let present = try item.read().map { found throws(TokenStoreError) in
                try KeychainEnvelope(found.data).policy
            }
            let policy = present.flatMap { $0 == .notRequired ? nil : $0 } ?? new
            try policy.authenticate(reason: reason)
        }

        /// Keeps a policy, and applies it to the stored session. The process may end between any two steps: the policy
        /// is kept first, and the next load applies it.
        func setPolicy(_ new: UnlockPolicy, _ memory: inout KeychainMemory) throws(TokenStoreError) {
            try settle(&memory)
            guard let found = try item.read() else { return try policy.set(new) }
            let envelope = try KeychainEnvelope(found.data)
            let data = try open(envelope, memory)
            if !new.isAvailable { throw TokenStoreError(.userPresenceUnavailable) }
            let old = try policy.current
            try policy.set(new)
            do throws(TokenStoreError) {
                try write(data, replacing: envelope, &memory)
            } catch {
                try? policy.set(old)
                throw error
            }
        }

        private func note(_ envelope: KeychainEnvelope) { isSealed.withLock { $0 = envelope.keyID != nil } }

        /// Whether another policy applies to a stored session, and this device can follow it.
        private func isOutdated(_ envelope: KeychainEnvelope) throws(TokenStoreError) -> Bool {
            let policy = try policy.current
            return envelope.policy != policy && policy.isAvailable
        }

        private func open(_ envelope: KeychainEnvelope, _ memory: KeychainMemory) throws(TokenStoreError) -> Data {
            switch envelope {
            case .plain(let data): return data
            case .sealed(let id, let sealed, _):
                if memory.lost.contains(id) { throw TokenStoreError(.corrupt, "the key no longer exists") }
                guard let key = memory[id] else { throw TokenStoreError(.userPresenceNeeded) }
                return try KeychainEnvelope.open(sealed, with: key, id: id)
            }
        }

        private func write(
            _ data: Data, replacing old: KeychainEnvelope?, _ memory: inout KeychainMemory
        ) throws(TokenStoreError) {
            let policy = try policy.current
            if case .sealed(let id, _, let present) = old, let key = memory[id], !memory.misplaced.contains(id),
                present == policy || !policy.isAvailable
            {
                return try write(KeychainEnvelope.sealing(data, with: key, id: id, for: present))
            }
            if policy == .notRequired || !policy.isAvailable {
                try write(.plain(data))
            } else {
                // The process may end between any two of these lines. So the new key is stored before anything is
                // encrypted with it, and the old key stays until nothing uses it.
                let (id, key) = (UUID(), SymmetricKey(size: .bits256))
                try keys.add(key, id: id, for: policy)
                memory.remember(key, id: id)
                try write(KeychainEnvelope.sealing(data, with: key, id: id, for: policy))
            }
            if let id = old?.keyID { try? keys.delete(id) }
        }

        private func write(_ envelope: KeychainEnvelope) throws(TokenStoreError) {
            try item.write(envelope.data)
            note(envelope)
        }

        /// Checks once in each process whether the app was reinstalled, and then applies the configured option.
        private func settle(_ memory: inout KeychainMemory) throws(TokenStoreError) {
            guard !memory.isSettled else { return }
            do throws(TokenStoreError) {
                if try !installation.isMarked() {
                    if discardsAfterReinstall {
                        memory.keepDiscarded(unsealedData())
                        try delete(&memory)
                    }
                    try installation.mark()
                }
                memory.isSettled = true
            } catch {
                // With `keep`, the marker has no effect, so its errors are ignored. It is set for a later version that
                // may use `discard`.
                if discardsAfterReinstall { throw error }
            }
        }

        /// The stored session, if it is not encrypted.
        private func unsealedData() -> Data? {
            guard let found = try? item.read(), case .plain(let data)? = try? KeychainEnvelope(found.data) else {
                return nil
            }
            return data
        }
    }

    /// The value of the session's item: a header with the format's version, then the session's bytes, encrypted or not.
    ///
    /// Version 1 begins with `ghk1`, version 2 with `ghk2`. Only a session that the passcode unlocks too has version 2,
    /// which earlier versions of this library leave as it is. A value that does not begin with `ghk` is older than
    /// versioning and holds the session's bytes alone.
    enum KeychainEnvelope: Sendable {
        case plain(Data)
        /// - `for`: the policy by which the user unlocks the key.
        case sealed(keyID: UUID, Data, for: UnlockPolicy)

        private static let name = Data("ghk".utf8)
        private static let versions = UInt8(ascii: "1")...UInt8(ascii: "2")
        private static let plainKind = UInt8(ascii: "p")
        private static let sealedKind = UInt8(ascii: "s")
        private static let sealedOrPasscodeKind = UInt8(ascii: "u")
        private static let header = 5

        var keyID: UUID? {
            if case .sealed(let id, _, _) = self { id } else { nil }
        }

        /// The policy by which the user unlocks the session.
        var policy: UnlockPolicy {
            if case .sealed(_, _, let policy) = self { policy } else { .notRequired }
        }

        /// - Throws: `fromLaterVersion`, or `corrupt` if the bytes are truncated or have an unknown form.
        init(_ bytes: Data) throws(TokenStoreError) {
            // Slices of Data keep their indices.
            let bytes = Data(bytes)
            guard bytes.starts(with: Self.name) else {
                self = .plain(bytes)
                return
            }
            if bytes.count > 3, bytes[3] > Self.versions.upperBound {
                throw TokenStoreError(.fromLaterVersion, "the Keychain item")
            }
            guard bytes.count >= Self.header, Self.versions.contains(bytes[3]) else {
                throw TokenStoreError(.corrupt, "cut off")
            }
            let rest = Data(bytes.dropFirst(Self.header))
            switch bytes[4] {
            case Self.plainKind: self = .plain(rest)
            case Self.sealedKind where rest.count > 16, Self.sealedOrPasscodeKind where rest.count > 16:
                let id = rest.prefix(16).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
                self = .sealed(
                    keyID: UUID(uuid: id), Data(rest.dropFirst(16)),
                    for: bytes[4] == Self.sealedKind ? .biometrics : .biometricsOrPasscode)
            default: throw TokenStoreError(.corrupt, "unknown form")
            }
        }

        var data: Data {
            switch self {
            case .plain(let data): Self.name + [Self.versions.lowerBound, Self.plainKind] + data
            case .sealed(let id, let data, .biometricsOrPasscode):
                Self.name + [Self.versions.upperBound, Self.sealedOrPasscodeKind] + Self.bytes(of: id) + data
            case .sealed(let id, let data, _):
                Self.name + [Self.versions.lowerBound, Self.sealedKind] + Self.bytes(of: id) + data
            }
        }

        static func sealing(
            _ data: Data, with key: SymmetricKey, id: UUID, for policy: UnlockPolicy
        ) throws(TokenStoreError) -> KeychainEnvelope {
            let box = try? AES.GCM.seal(data, using: key, authenticating: bytes(of: id))
            guard let combined = box?.combined else { throw TokenStoreError(.failed, "cannot be sealed") }
            return .sealed(keyID: id, combined, for: policy)
        }

        static func open(_ sealed: Data, with key: SymmetricKey, id: UUID) throws(TokenStoreError) -> Data {
            do {
                return try AES.GCM.open(
                    try AES.GCM.SealedBox(combined: sealed), using: key, authenticating: bytes(of: id))
            } catch {
                throw TokenStoreError(.corrupt, "the seal is broken")
            }
        }

        private static func bytes(of id: UUID) -> Data { withUnsafeBytes(of: id.uuid) { Data($0) } }
    }

    /// A store's state for the lifetime of the process.
    struct KeychainMemory: Sendable {
        /// Keys that the user has unlocked, or that this process created.
        private var keys: [UUID: Redacted<SymmetricKey>] = [:]
        /// Keys that no longer exist because the enrolment has changed.
        private(set) var lost: Set<UUID> = []
        /// Keys in the access group of an earlier configuration.
        private(set) var misplaced: Set<UUID> = []
        /// Whether an operation has deleted all keys that existed before its own.
        private var hasForgotten = false
        /// Whether the check for a reinstallation is done.
        var isSettled = false
        /// The session of an earlier installation.
        private var discarded: Redacted<Data>?

        subscript(id: UUID) -> SymmetricKey? { keys[id]?.value }

        mutating func remember(_ key: SymmetricKey, id: UUID, isMisplaced: Bool = false) {
            keys[id] = Redacted(key)
            if isMisplaced { misplaced.insert(id) }
        }

        mutating func lose(_ id: UUID) { lost.insert(id) }

        mutating func forgetKeys() { (keys, hasForgotten) = ([:], true) }

        mutating func keepDiscarded(_ data: Data?) {
            if let data { discarded = Redacted(data) }
        }

        mutating func takeDiscarded() -> Data? {
            defer { discarded = nil }
            return discarded?.value
        }

        /// Merges the changes of an operation that began with a copy of this memory.
        mutating func merge(_ other: KeychainMemory) {
            if other.hasForgotten { keys = [:] }
            keys.merge(other.keys) { _, newer in newer }
            lost.formUnion(other.lost)
            misplaced.formUnion(other.misplaced)
            // Only the check finds one. A later operation began with a copy that may have been taken meanwhile.
            if !isSettled { discarded = other.discarded ?? discarded }
            isSettled = isSettled || other.isSettled
        }
    }
#endif
