import Foundation
import TestKit
import Testing

/// A system that runs already, which the environment names for suites that see it only as a client does:
/// `GATEHOUSE_TEST_GATEWAY_URL` and `GATEHOUSE_TEST_APPLE_SIMULATOR_URL`.
enum RunningElsewhere {
    static let gateway = url("GATEHOUSE_TEST_GATEWAY_URL")
    static let apple = url("GATEHOUSE_TEST_APPLE_SIMULATOR_URL")

    private static func url(_ name: String) -> URL? {
        ProcessInfo.processInfo.environment[name].flatMap { URL(string: $0) }
    }
}

extension Journey {
    /// Through the system that runs elsewhere, or else the one that runs around the suite at hand.
    static var current: Journey {
        guard let gateway = RunningElsewhere.gateway, let apple = RunningElsewhere.apple else {
            return GatehouseSystem.current.journey
        }
        return Journey(api: TestHTTPClient(gateway), apple: TestHTTPClient(apple))
    }

    /// The address of the gateway that is asked.
    static var gatewayURL: URL { RunningElsewhere.gateway ?? GatehouseSystem.current.process("gateway").url }
}

extension Trait where Self == ConditionTrait {
    /// Of tests in a client's suites that do more than a client can.
    static var onlyInASystemOfItsOwn: Self {
        .disabled(if: RunningElsewhere.gateway != nil, "needs a system of its own")
    }
}
