import Foundation

/// The bare RSA operations as `openssl speed` measures them, in its own CPU time.
struct OpenSSLSpeed {
    private var signaturesPerSecond = 0.0
    private var verificationsPerSecond = 0.0
    private var processes = 0

    /// - Parameter processes: how many run at once. Under a full load cores share caches, and threads cores.
    static func rsa2048(seconds: Int, processes: Int = 1) async throws -> OpenSSLSpeed {
        try await withThrowingTaskGroup(of: OpenSSLSpeed.self) { group in
            for _ in 0..<processes { group.addTask { try await one(seconds: seconds) } }
            return try await group.reduce(into: OpenSSLSpeed()) { sum, one in
                sum.signaturesPerSecond += one.signaturesPerSecond
                sum.verificationsPerSecond += one.verificationsPerSecond
                sum.processes += one.processes
            }
        }
    }

    var sign: Measurement { measurement("openssl speed: RSA-2048 sign", signaturesPerSecond) }
    var verify: Measurement { measurement("openssl speed: RSA-2048 verify", verificationsPerSecond) }

    private func measurement(_ name: String, _ operations: Double) -> Measurement {
        Measurement(
            name: name, operations: Int(operations), elapsed: .seconds(1),
            cpu: [("openssl", .seconds(Int64(processes)))])
    }

    /// Its machine-readable line is `+F2:index:bits:signatures per second:verifications per second`.
    private static func one(seconds: Int) async throws -> OpenSSLSpeed {
        let text = try await Tool.run("openssl", "speed", "-mr", "-seconds", String(seconds), "rsa2048").output
        let fields = text.split(separator: "\n").last { $0.hasPrefix("+F2:") }?.split(separator: ":")
        guard let fields, fields.count == 5, let sign = Double(fields[3]), let verify = Double(fields[4]) else {
            throw BenchmarkError("openssl speed printed no figures")
        }
        return OpenSSLSpeed(signaturesPerSecond: sign, verificationsPerSecond: verify, processes: 1)
    }
}
