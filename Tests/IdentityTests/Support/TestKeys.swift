/// Keys that protect nothing.
enum TestKeys {
    /// The team's own key with Apple (P-256).
    static let clientSecret = """
        # development
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7QaVHkrEc/yfRFTx
        DnaiYzDUFxh8IiWc+w2R5uXo9U6hRANCAAT6EOiRpXF6dQGm081Mjmct1A5ANI8/
        7dqdydgNq/2mNiqiMvtbb0YVLhG/gT4CFvLDU42R50v0uC2SPCR5JiEk
        -----END PRIVATE KEY-----
        """
}
