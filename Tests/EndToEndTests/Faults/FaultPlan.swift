import Foundation
import TestKit

/// How long the faults go on, how many clients refresh meanwhile, and the seed of all that is random.
///
/// Short unless the environment says otherwise, as `make test-faults` does: `GATEHOUSE_FAULT_SECONDS`,
/// `GATEHOUSE_FAULT_CLIENTS`, `GATEHOUSE_FAULT_SEED`.
struct FaultPlan {
    let duration: Duration
    let clients: Int
    let seed: UInt64

    init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        duration = .seconds(try Self.number("GATEHOUSE_FAULT_SECONDS", in: environment) ?? 30)
        clients = Int(try Self.number("GATEHOUSE_FAULT_CLIENTS", in: environment) ?? 60)
        seed = UInt64(try Self.number("GATEHOUSE_FAULT_SEED", in: environment) ?? .random(in: 1...999_999))
    }

    private static func number(_ name: String, in environment: [String: String]) throws -> UInt32? {
        guard let text = environment[name] else { return nil }
        guard let number = UInt32(text), number > 0 else { throw TestKitError("\(name) is not a number above 0.") }
        return number
    }
}
