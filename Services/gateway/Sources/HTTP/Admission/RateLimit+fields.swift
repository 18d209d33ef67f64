extension RateLimit {
    /// The fields of a refusal (draft-ietf-httpapi-ratelimit-headers-10): what the limit is, and that nothing is left.
    ///
    /// - Parameter retryAfter: seconds.
    func fields(name: String, retryAfter: Int) -> String {
        let window = max(1, Int((Double(capacity) / perSecond).rounded(.up)))
        return """
            RateLimit-Policy: "\(name)";q=\(capacity);w=\(window)\r
            RateLimit: "\(name)";r=0;t=\(retryAfter)\r

            """
    }
}
