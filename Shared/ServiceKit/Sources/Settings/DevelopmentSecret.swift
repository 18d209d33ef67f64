/// How secrets and keys made for development are recognised, so that production can refuse them.
public enum DevelopmentSecret {
    /// Credentials begin with it, and so does the password within a development database's address.
    public static let prefix = "dev-"
    /// Key files begin with it.
    public static let fileMark = "# development"

    static func isMarked(_ secret: String) -> Bool {
        secret.hasPrefix(prefix) || secret.contains(":\(prefix)")
    }
}
