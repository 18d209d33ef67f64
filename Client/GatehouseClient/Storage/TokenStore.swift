public import Foundation

/// Where a session is kept between launches: bytes that only ``Session`` understands.
///
/// A store never takes what it cannot read for an empty one: a device that is still locked, or a damaged file, is an
/// error. To a session "nothing is there" means that nobody is signed in.
public protocol TokenStore: Sendable {
    /// What was saved last; `nil` where there is nothing.
    func load() async throws(TokenStoreError) -> Data?

    /// Replaces what is there, wholly or not at all. When it returns, the bytes survive the end of the process.
    func save(_ data: Data) async throws(TokenStoreError)

    /// Lets the user prove who they are, where the store asks for it.
    ///
    /// - Parameter reason: what the system's dialog says, in the user's language.
    func unlock(reason: String) async throws(TokenStoreError)

    /// Runs `body` while no other process that shares the store runs one.
    ///
    /// Where two processes cannot be kept apart it just runs: the server gives both the same successor of a token. Where
    /// the task is cancelled while it waits, `body` does not run.
    func withExclusiveAccess<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value
}

extension TokenStore {
    public func unlock(reason: String) async throws(TokenStoreError) {}

    public func withExclusiveAccess<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await body()
    }
}
