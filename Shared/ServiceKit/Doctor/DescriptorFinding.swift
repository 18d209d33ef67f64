/// Whether the limit of open files leaves room for connections.
enum DescriptorFinding {
    static let comfortable = 10_000

    /// - Parameter limit: how many files the system lets the process have open at most.
    static func finding(limit: Int) -> Finding {
        guard limit < comfortable else { return .fine("Up to \(limit) files may be open.") }
        return .warning(
            "Only \(limit) files may be open, and each connection is one: more clients than that have to wait.",
            remedy: "Raise the hard limit: LimitNOFILE of the systemd unit, `ulimits` in docker-compose.yml, "
                + "or the container runtime's default.")
    }
}
