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
        /// Where a step waits: the functions of Security wait for another process, and a dialog for the user. Neither on
        /// one of Swift's threads.
        private enum Line {
            case steps
            case dialogs
        }

        private let vault: KeychainVault
        private let queue: DispatchQueue
        private let dialogs: DispatchQueue
        /// The last step of each line. One follows the other, so that what is saved last stays, and each knows what those
        /// before it have learnt.
        private var last: [Line: Task<Void, Never>] = [:]
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
            try await run(.steps) { vault, memory throws(TokenStoreError) in try vault.load(&memory) }
        }

        public func save(_ data: Data) async throws(TokenStoreError) {
            try await run(.steps) { vault, memory throws(TokenStoreError) in try vault.save(data, &memory) }
        }

        /// Removes what is there, for an app that begins anew; no error where there is nothing. The server is not told.
        public func delete() async throws(TokenStoreError) {
            try await run(.steps) { vault, memory throws(TokenStoreError) in try vault.delete(&memory) }
        }

        public func unlock(reason: String) async throws(TokenStoreError) {
            try await run(.dialogs) { vault, memory throws(TokenStoreError) in
                try vault.unlock(reason: reason, &memory)
            }
        }

        private func run<Value: Sendable>(
            _ line: Line,
            _ body: @escaping @Sendable (KeychainVault, inout KeychainMemory) throws(TokenStoreError) -> Value
        ) async throws(TokenStoreError) -> Value {
            let previous = last[line]
            let step = Task {
                await previous?.value
                return await take(on: line, body)
            }
            last[line] = Task { _ = await step.value }
            return try await step.value.get()
        }

        /// One step. It works on a copy of the memory, since a dialog may be answered meanwhile, and adds what it learns.
        private func take<Value: Sendable>(
            on line: Line,
            _ body: @escaping @Sendable (KeychainVault, inout KeychainMemory) throws(TokenStoreError) -> Value
        ) async -> Result<Value, TokenStoreError> {
            let (result, after) = await withCheckedContinuation { continuation in
                (line == .steps ? queue : dialogs).async { [vault, memory] in
                    var memory = memory
                    let result = Result { () throws(TokenStoreError) in try body(vault, &memory) }
                    continuation.resume(returning: (result, memory))
                }
            }
            memory.merge(after)
            return result
        }
    }
#endif
