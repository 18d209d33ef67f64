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
#endif
