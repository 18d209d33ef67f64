/// What a request proves its user with. Ask the session for one each time: it expires.
public struct AccessToken: Sendable, Equatable {
    public let value: Redacted<String>

    init(_ value: Redacted<String>) { self.value = value }
}
