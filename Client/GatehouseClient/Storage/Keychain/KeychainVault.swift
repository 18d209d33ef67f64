#if canImport(Security)
    import CryptoKit
    import Foundation

    /// What a ``KeychainTokenStore`` does, step by step. It waits for the Keychain: never call it on one of Swift's threads.
    ///
    /// Where biometry is required the session lies sealed in an item that can be renewed at any time, and the key to it in
    /// another that only the user's finger or face opens. A session that is renewed in the background needs no dialog, and
    /// is replaced as a whole or not at all.
    struct KeychainVault: Sendable {
        private let requiresBiometry: Bool
        private let discardsAfterReinstall: Bool
        private let item: KeychainItem
        private let keys: KeychainUnlockKeys
        private let installation: KeychainInstallation

        init(_ options: KeychainTokenStore.Options, installation: KeychainInstallation? = nil) {
            requiresBiometry = options.requiresBiometry
            discardsAfterReinstall = options.afterReinstall.discards
            item = KeychainItem(service: options.service, account: options.account, accessGroup: options.accessGroup)
            keys = KeychainUnlockKeys(
                service: "\(options.service).\(options.account).unlock", accessGroup: options.accessGroup)
            self.installation =
                installation
                ?? KeychainInstallation(
                    file: options.container.appendingPathComponent("\(options.service).\(options.account).installed"))
        }

        func load(_ memory: inout KeychainMemory) throws(TokenStoreError) -> Data? {
            try settle(&memory)
            guard let found = try item.read() else { return nil }
            let envelope = try KeychainEnvelope(found.data)
            let data = try open(envelope, memory)
            let isMisplaced = envelope.keyID.map(memory.misplaced.contains) ?? false
            if !found.isCurrent || isMisplaced || !envelope.isCurrent(requiresBiometry: requiresBiometry) {
                // It was read, which is what was asked for. The next save brings it into today's form if this one fails.
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
                // What nobody can read is replaced; what a later version can is not.
                guard error.code == .corrupt else { throw error }
            }
            try write(data, replacing: old, &memory)
        }

        func delete(_ memory: inout KeychainMemory) throws(TokenStoreError) {
            try item.delete()
            try keys.deleteAll()
            memory.forgetKeys()
        }

        func unlock(reason: String, _ memory: inout KeychainMemory) throws(TokenStoreError) {
            guard let item = try item.read(), case .sealed(let id, _) = try KeychainEnvelope(item.data),
                memory[id] == nil
            else { return }
            guard let found = try keys.read(id, reason: reason) else {
                memory.lose(id)
                return
            }
            memory.remember(found.key, id: id, isMisplaced: !found.isCurrent)
        }

        private func open(_ envelope: KeychainEnvelope, _ memory: KeychainMemory) throws(TokenStoreError) -> Data {
            switch envelope {
            case .plain(let data): return data
            case .sealed(let id, let sealed):
                if memory.lost.contains(id) { throw TokenStoreError(.corrupt, "the biometrics have changed") }
                guard let key = memory[id] else { throw TokenStoreError(.userPresenceNeeded) }
                return try KeychainEnvelope.open(sealed, with: key, id: id)
            }
        }

        private func write(
            _ data: Data, replacing old: KeychainEnvelope?, _ memory: inout KeychainMemory
        ) throws(TokenStoreError) {
            guard requiresBiometry else {
                try item.write(KeychainEnvelope.plain(data).data)
                if let id = old?.keyID { try? keys.delete(id) }
                return
            }
            if let id = old?.keyID, let key = memory[id], !memory.misplaced.contains(id) {
                try item.write(KeychainEnvelope.sealing(data, with: key, id: id).data)
                return
            }
            // The key lies there before anything is sealed with it, and the old one until nothing is any more: the process
            // may end between any two of these lines.
            let (id, key) = (UUID(), SymmetricKey(size: .bits256))
            try keys.add(key, id: id)
            memory.remember(key, id: id)
            try item.write(KeychainEnvelope.sealing(data, with: key, id: id).data)
            if let id = old?.keyID { try? keys.delete(id) }
        }

        /// Finds out whether the app has been installed anew, once in each process, and then does what is asked for.
        private func settle(_ memory: inout KeychainMemory) throws(TokenStoreError) {
            guard !memory.isSettled else { return }
            do throws(TokenStoreError) {
                if try !installation.isMarked() {
                    if discardsAfterReinstall { try delete(&memory) }
                    try installation.mark()
                }
                memory.isSettled = true
            } catch {
                // To who keeps the session the mark says nothing; it is set for a later version that may ask for it.
                if discardsAfterReinstall { throw error }
            }
        }
    }

    /// The value of the session's item: a mark with the format's version, then what the session has saved, sealed or not.
    ///
    /// The first bytes of version 1 are `ghk1`. Whatever does not begin with `ghk` is from before there was a version, and
    /// is what the session has saved.
    enum KeychainEnvelope: Sendable {
        case plain(Data)
        case sealed(keyID: UUID, Data)

        private static let name = Data("ghk".utf8)
        private static let version = UInt8(ascii: "1")
        private static let plainKind = UInt8(ascii: "p")
        private static let sealedKind = UInt8(ascii: "s")
        private static let header = 5

        var keyID: UUID? {
            if case .sealed(let id, _) = self { id } else { nil }
        }

        func isCurrent(requiresBiometry: Bool) -> Bool { (keyID != nil) == requiresBiometry }

        /// - Throws: `fromLaterVersion`, or `corrupt` where the bytes are cut.
        init(_ bytes: Data) throws(TokenStoreError) {
            // Slices of Data keep their indices.
            let bytes = Data(bytes)
            guard bytes.starts(with: Self.name) else {
                self = .plain(bytes)
                return
            }
            if bytes.count > 3, bytes[3] > Self.version {
                throw TokenStoreError(.fromLaterVersion, "the Keychain's item")
            }
            guard bytes.count >= Self.header, bytes[3] == Self.version else {
                throw TokenStoreError(.corrupt, "cut off")
            }
            let rest = Data(bytes.dropFirst(Self.header))
            switch bytes[4] {
            case Self.plainKind: self = .plain(rest)
            case Self.sealedKind where rest.count > 16:
                let id = rest.prefix(16).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
                self = .sealed(keyID: UUID(uuid: id), Data(rest.dropFirst(16)))
            default: throw TokenStoreError(.corrupt, "of no known form")
            }
        }

        var data: Data {
            let head = Self.name + [Self.version]
            return switch self {
            case .plain(let data): head + [Self.plainKind] + data
            case .sealed(let id, let data): head + [Self.sealedKind] + Self.bytes(of: id) + data
            }
        }

        static func sealing(
            _ data: Data, with key: SymmetricKey, id: UUID
        ) throws(TokenStoreError) -> KeychainEnvelope {
            let box = try? AES.GCM.seal(data, using: key, authenticating: bytes(of: id))
            guard let combined = box?.combined else { throw TokenStoreError(.failed, "cannot be sealed") }
            return .sealed(keyID: id, combined)
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
