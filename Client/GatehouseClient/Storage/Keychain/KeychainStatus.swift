#if canImport(Security)
    import Security

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
