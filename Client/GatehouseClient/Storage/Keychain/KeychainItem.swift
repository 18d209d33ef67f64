#if canImport(Security)
    import Foundation
    import Security

    /// The generic password that holds the session. Apple: "Keychain items", `SecItemAdd`, `SecItemUpdate`.
    struct KeychainItem: Sendable {
        let service: String
        let account: String
        let accessGroup: String?

        struct Found: Sendable {
            var data: Data
            /// Whether it has the attributes that this version gives it, and lies where this version looks.
            var isCurrent: Bool
        }

        private static var accessible: String { kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String }

        /// `nil` where there is none.
        func read() throws(TokenStoreError) -> Found? {
            if let found = try copy(query()) {
                return Found(
                    data: found.data,
                    isCurrent: found.attributes[kSecAttrAccessible as String] as? String == Self.accessible)
            }
            // Of an earlier configuration: in another group of the app's, or in iCloud's Keychain.
            return try copy(anywhere()).map { Found(data: $0.data, isCurrent: false) }
        }

        /// Replaces the value and, where they are others, the attributes.
        ///
        /// Another process may add the item, or delete it, between any two calls.
        func write(_ data: Data) throws(TokenStoreError) {
            let values: [String: Any] = [
                kSecValueData as String: data, kSecAttrAccessible as String: Self.accessible,
            ]
            for _ in 0..<4 {
                let updated = SecItemUpdate(query() as CFDictionary, values as CFDictionary)
                if updated == errSecSuccess { return }
                guard updated == errSecItemNotFound else { throw TokenStoreError(status: updated) }
                let added = SecItemAdd(query().merging(values) { old, _ in old } as CFDictionary, nil)
                if added == errSecSuccess { return deleteElsewhere() }
                guard added == errSecDuplicateItem else { throw TokenStoreError(status: added) }
            }
            throw TokenStoreError(.failed, "other processes change the item all the time")
        }

        /// In all groups of the app's.
        func delete() throws(TokenStoreError) {
            let status = SecItemDelete(anywhere() as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw TokenStoreError(status: status) }
        }

        /// Items of an earlier configuration, whose tokens are of no use any more. Where that fails they lie there unread
        /// until the user signs out, which deletes all.
        private func deleteElsewhere() {
            var query = anywhere()
            query[kSecReturnAttributes as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            var result: CFTypeRef?
            _ = SecItemCopyMatching(query as CFDictionary, &result)
            for attributes in result as? [[String: Any]] ?? [] {
                let group = attributes[kSecAttrAccessGroup as String] as? String
                let isSynchronizable = attributes[kSecAttrSynchronizable as String] as? Bool ?? false
                guard isSynchronizable || accessGroup != nil && group != accessGroup else { continue }
                var old = self.query()
                old[kSecAttrAccessGroup as String] = group
                old[kSecAttrSynchronizable as String] = isSynchronizable
                SecItemDelete(old as CFDictionary)
            }
        }

        private func copy(
            _ query: [String: Any]
        ) throws(TokenStoreError) -> (data: Data, attributes: [String: Any])? {
            var query = query
            query[kSecReturnData as String] = true
            query[kSecReturnAttributes as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw TokenStoreError(status: status) }
            guard let attributes = result as? [String: Any], let data = attributes[kSecValueData as String] as? Data
            else { throw TokenStoreError(.corrupt, "an item without a value") }
            return (data, attributes)
        }

        private func query() -> [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecAttrAccount as String: account, kSecUseDataProtectionKeychain as String: true,
            ]
            query[kSecAttrAccessGroup as String] = accessGroup
            return query
        }

        private func anywhere() -> [String: Any] {
            var query = query()
            query[kSecAttrAccessGroup as String] = nil
            query[kSecAttrSynchronizable as String] = kSecAttrSynchronizableAny
            return query
        }
    }

    extension TokenStoreError {
        /// What a function of Security has answered about the session's item (Apple: "Security Framework Result Codes").
        init(status: OSStatus) {
            switch status {
            // Nothing of the session's item asks for the user: the device has not been unlocked.
            case errSecInteractionNotAllowed: self.init(.deviceLocked, "OSStatus \(status)")
            case errSecDecode: self.init(.corrupt, "OSStatus \(status)")
            default: self.init(.failed, "OSStatus \(status)")
            }
        }
    }
#endif
