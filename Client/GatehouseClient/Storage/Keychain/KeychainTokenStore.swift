#if canImport(Security)
    import Dispatch
    public import Foundation

    /// Keeps a session in the Keychain: a generic password that this device can read from its first unlocking on, also
    /// in the background (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`), and that is in no backup of another.
    ///
    /// It throws `deviceLocked` as long as the device has not been unlocked since it was started, as when the system warms
    /// an app up: a Keychain that cannot be read is not an empty one. On a Mac the app needs an entitlement for the data
    /// protection Keychain (`keychain-access-groups`, or an application identifier); programs without one keep their
    /// session in a file.
    public actor KeychainTokenStore: TokenStore {
        private let vault: KeychainVault
        /// The functions of Security wait for another process: not on one of Swift's threads. One after the other, so that
        /// what is saved last stays.
        private let queue: DispatchQueue
        /// One that waits until the user has answered a dialog.
        private let dialogs: DispatchQueue
        private var memory = KeychainMemory()

        public init(_ options: Options = Options()) {
            self.init(
                KeychainVault(options), queue: DispatchQueue(label: "gatehouse.keychain"),
                dialogs: DispatchQueue(label: "gatehouse.keychain.dialogs"))
        }

        init(_ vault: KeychainVault, queue: DispatchQueue, dialogs: DispatchQueue) {
            self.vault = vault
            self.queue = queue
            self.dialogs = dialogs
        }

        public func load() async throws(TokenStoreError) -> Data? {
            try await run(on: queue) { vault, memory throws(TokenStoreError) in try vault.load(&memory) }
        }

        public func save(_ data: Data) async throws(TokenStoreError) {
            try await run(on: queue) { vault, memory throws(TokenStoreError) in try vault.save(data, &memory) }
        }

        /// Removes what is there, for an app that begins anew; no error where there is nothing. The server is not told.
        public func delete() async throws(TokenStoreError) {
            try await run(on: queue) { vault, _ throws(TokenStoreError) in try vault.delete() }
            memory.forgetKeys()
        }

        public func unlock(reason: String) async throws(TokenStoreError) {
            try await run(on: dialogs) { vault, memory throws(TokenStoreError) in
                try vault.unlock(reason: reason, &memory)
            }
        }

        /// Calls may overlap: each works on a copy of the memory and adds to it what it has learnt.
        private func run<Value: Sendable>(
            on queue: DispatchQueue,
            _ body: @escaping @Sendable (KeychainVault, inout KeychainMemory) throws(TokenStoreError) -> Value
        ) async throws(TokenStoreError) -> Value {
            let (result, after) = await withCheckedContinuation { continuation in
                queue.async { [vault, memory] in
                    var memory = memory
                    let result = Result { () throws(TokenStoreError) in try body(vault, &memory) }
                    continuation.resume(returning: (result, memory))
                }
            }
            memory.merge(after)
            return try result.get()
        }
    }
#endif
