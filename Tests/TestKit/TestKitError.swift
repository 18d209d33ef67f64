/// Why a test cannot continue, for the developer who runs it.
public struct TestKitError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
