/// How secrets and keys made for development are recognised, so that production can refuse them.
public enum DevelopmentSecret {
    /// Credentials begin with it, and so does the password within a development database's address.
    private static let prefix = "dev-"
    /// Key files begin with it.
    private static let fileMark = "# development"

    static func isMarked(_ secret: String) -> Bool {
        secret.hasPrefix(prefix) || secret.contains(":\(prefix)")
    }

    /// Whether a file with this text was made for development.
    public static func isMarked(file text: String) -> Bool { text.hasPrefix(fileMark) }

    /// What a file begins with: the line that marks one made for development, nothing for any other.
    public static func fileHead(isForDevelopment: Bool) -> String { isForDevelopment ? fileMark + "\n" : "" }
}
