/// Why a test cannot go on, in words for whoever runs it.
public struct TestKitError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
