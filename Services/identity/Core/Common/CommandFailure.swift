/// Why a command failed, in words for the operator.
package struct CommandFailure: Error, CustomStringConvertible {
    /// A sentence.
    package let description: String

    package init(description: String) {
        self.description = description
    }
}
