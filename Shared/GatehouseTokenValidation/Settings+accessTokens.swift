package import GatehouseSettings

/// The settings of each service that accepts access tokens.
extension Settings {
    package func acceptedIssuer() -> String {
        string(
            "issuer", default: environment == .development ? "http://gatehouse.localhost" : nil,
            "`iss` of access tokens")
    }

    package func acceptedAudience() -> String { string("audience", default: "gatehouse", "`aud` of access tokens") }

    /// Seconds. With less than 15, a file that is read every 5 s would become stale between two reads on a busy
    /// machine.
    package func keysMaximumStaleness() -> Int64 {
        seconds(
            "keysMaxStaleness", default: 86_400, in: 15...Int(Int32.max),
            "time for which keys are trusted that cannot be fetched again"
        ).components.seconds
    }

    /// Seconds.
    package func revocationMaximumStaleness() -> Int64 {
        seconds(
            "revocationMaxStaleness", default: 3_600,
            "time without the revocation feed, after which bearers are answered 503"
        ).components.seconds
    }
}
