import Instruments

extension RefreshKeyRing {
    /// Tells which keys this replica has. Their file does not say how old they are.
    func tellMetrics() {
        for id in ids {
            Gauge(
                "tokens_refresh_key_info",
                help: "1 for each key for refresh tokens, by what this replica does with it.",
                labels: [("key", "\(id)"), ("use", id == minting.id ? "minting" : "verifying")]
            ).set(1)
        }
    }
}
