import Bytes

extension CORSPolicy {
    /// The lines of every response of the route.
    ///
    /// - Parameter origin: of the request; `nil` where it names none.
    func lines(for origin: String?) -> String {
        let vary = "Vary: Origin\r\n"
        guard let origin, allows(origin) else { return vary }
        let expose = exposed.isEmpty ? "" : "Access-Control-Expose-Headers: \(exposed.joined(separator: ", "))\r\n"
        return "Access-Control-Allow-Origin: \(shown(origin))\r\n\(expose)\(vary)"
    }

    /// The lines of the response to a browser that asks before it sends a request.
    func preflightLines(for origin: String, methods: MethodSet) -> String {
        """
        Access-Control-Allow-Origin: \(shown(origin))\r
        Access-Control-Allow-Methods: \(methods.description)\r
        Access-Control-Allow-Headers: \(headers.joined(separator: ", "))\r
        Access-Control-Max-Age: \(maximumAge)\r
        Vary: Origin\r

        """
    }

    private func shown(_ origin: String) -> String { origins.contains("*") ? "*" : origin }
}
