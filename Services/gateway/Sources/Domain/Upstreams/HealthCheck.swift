/// How each address of an upstream is asked whether it is well.
struct HealthCheck: Sendable, Hashable {
    /// The path that responds with a 2xx where all is well.
    var path: String
    /// About so long from the end of one check to the beginning of the next.
    var interval = Duration.seconds(5)
    /// For a whole check, from the connection to the last byte of the response.
    var timeout = Duration.seconds(2)
}
