/// What is wrong with the text of a keys file, without a secret.
public struct KeyRingError: Error, Equatable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
