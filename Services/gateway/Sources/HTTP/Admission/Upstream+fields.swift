extension Upstream {
    /// The lines that every head there has.
    var lines: String {
        (addresses.first.map { "Host: \($0.hostField)\r\n" } ?? "")
            + (credential.map { "Gatehouse-Credential: \($0)\r\n" } ?? "")
    }
}
