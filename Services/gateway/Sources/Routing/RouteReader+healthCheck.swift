import Yams

extension RouteReader {
    /// Reads how the addresses of the route's upstreams are asked whether they are well.
    mutating func healthCheck(_ node: Node?) -> HealthCheck? {
        guard let node else { return nil }
        let known: Set = ["path", "interval", "timeout"]
        guard let mapping = node.mapping, mapping.keys.allSatisfy({ known.contains($0.string ?? "") }) else {
            problem("healthCheck must be like {path: /health, interval: 5, timeout: 2}", at: node)
            return nil
        }
        guard let path = mapping["path"]?.string, let pattern = PathPattern(path),
            pattern.segments.allSatisfy({ if case .literal = $0 { true } else { false } })
        else {
            problem("healthCheck needs a plain path like /health", at: mapping["path"] ?? node)
            return nil
        }
        if case .literal(let first)? = pattern.segments.first, first.lowercased() == "internal" {
            problem("healthCheck would reach /internal", at: mapping["path"])
            return nil
        }
        var check = HealthCheck(path: path)
        if let interval = number(mapping["interval"], "interval", in: 1...300) { check.interval = .seconds(interval) }
        if let timeout = number(mapping["timeout"], "timeout", in: 1...60) { check.timeout = .seconds(timeout) }
        return check
    }
}
