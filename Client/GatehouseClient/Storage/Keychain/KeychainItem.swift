#if canImport(Security)
    import Foundation
    import Security

    /// The generic password that holds the session. See Apple: "Keychain items", `SecItemAdd`, `SecItemUpdate`.
    struct KeychainItem: Sendable {
        let service: String
        let account: String
        let accessGroup: String?

        struct Found: Sendable {
            var data: Data
            /// Whether its attributes and its access group are those of this version and configuration.
            var isCurrent: Bool
        }

        private static var accessible: String { kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String }

        /// Returns `nil` if there is no item.
        func read() throws(TokenStoreError) -> Found? {
            if let found = try copy(query()) {
                return Found(
                    data: found.data,
                    isCurrent: found.attributes[kSecAttrAccessible as String] as? String == Self.accessible)
            }
            // An item of an earlier configuration: in another of the app's groups, or in iCloud Keychain.
            return try copy(anywhere()).map { Found(data: $0.data, isCurrent: false) }
        }

        /// Replaces the value and, if they differ, the attributes.
        ///
        /// Another process may add or delete the item between any two calls.
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
            throw TokenStoreError(.failed, "other processes keep changing the item")
        }

        /// Deletes the item in all of the app's groups.
        func delete() throws(TokenStoreError) {
            let status = SecItemDelete(anywhere() as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw TokenStoreError(status: status) }
        }

        /// Deletes items of an earlier configuration, whose tokens are no longer needed. If that fails, they remain
        /// unread until the user signs out, which deletes all items.
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
        /// An error of Security for the session's item (Apple: "Security Framework Result Codes").
        init(status: OSStatus) {
            switch status {
            // The session's item needs no user interaction, so the device has not been unlocked.
            case errSecInteractionNotAllowed: self.init(.deviceLocked, "OSStatus \(status)")
            case errSecDecode: self.init(.corrupt, "OSStatus \(status)")
            default: self.init(.failed, "OSStatus \(status)")
            }
        }
    }
#endif
