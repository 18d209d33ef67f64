public import Foundation

/// Keeps a session as long as the process lives: for tests, previews and private browsing.
public actor InMemoryTokenStore: TokenStore {
    private var data: Data?

    public init() {}

    public func load() -> Data? { data }

    public func save(_ data: Data) { self.data = data }

    /// Removes what is there, for an app that begins anew; no error where there is nothing. The server is not told.
    public func delete() { data = nil }
}
