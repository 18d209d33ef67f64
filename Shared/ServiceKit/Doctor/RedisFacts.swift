/// What Redis says of itself (`INFO`), and what follows from it. Gatehouse keeps limits and locks there, which may be
/// lost at any time.
public struct RedisFacts: Sendable, Equatable {
    /// `master`, or `slave`.
    var role: String?
    var usedMemory: Int64?
    /// Bytes; 0 for no limit.
    var maximumMemory: Int64?
    var policy: String?

    /// - Parameter info: what `INFO` answers: lines `name:value`.
    public init(info: String) {
        var values: [Substring: String] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = String(parts[1]) }
        }
        role = values["role"]
        usedMemory = values["used_memory"].flatMap { Int64($0) }
        maximumMemory = values["maxmemory"].flatMap { Int64($0) }
        policy = values["maxmemory_policy"]
    }

    public var findings: [Finding] {
        var findings: [Finding] = []
        if let role, role != "master" {
            findings.append(
                .problem(
                    "Redis is a replica, which takes no writes: limits and locks do not work.",
                    remedy: "Give an address that follows the primary."))
        }
        let full = 0.9
        if let usedMemory, let maximumMemory, maximumMemory > 0, policy == "noeviction",
            Double(usedMemory) > full * Double(maximumMemory)
        {
            findings.append(
                .warning(
                    "Redis is nearly full (\(usedMemory >> 20) of \(maximumMemory >> 20) MiB) and evicts nothing: it "
                        + "will refuse what is written.",
                    remedy: "Give it more memory, or set maxmemory-policy to allkeys-lru: only counts would be lost."))
        }
        return findings.isEmpty ? [.fine("Redis answers.")] : findings
    }
}

extension Examination {
    /// Asks Redis, and looks at its certificate.
    ///
    /// - Parameters:
    ///   - tls: `nil` where it is spoken to without.
    ///   - info: sends `INFO` and returns what it answers.
    public func redis(tls: TLSServer?, _ info: () async throws -> String) async -> [Finding] {
        let certificate = if let tls { await certificate(of: tls) } else { [] as [Finding] }
        return await answer(info) + certificate
    }

    private func answer(_ info: () async throws -> String) async -> [Finding] {
        do {
            return RedisFacts(info: try await info()).findings
        } catch {
            let why = NetworkTrouble.words(error)
            return [
                .warning(
                    "Redis gives no answer: \(why). Everything works without it, and each replica limits for itself.",
                    remedy: "Is it running, and are address, password and certificate right?")
            ]
        }
    }
}
