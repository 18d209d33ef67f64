/// Why a command failed, in words for the operator.
public struct CommandFailure: Error, CustomStringConvertible {
    /// A sentence.
    public let description: String
}
