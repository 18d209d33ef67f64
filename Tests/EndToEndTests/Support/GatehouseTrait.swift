import Testing

extension GatehouseSystem {
    @TaskLocal fileprivate static var running: GatehouseSystem?

    /// The system that runs around the suite at hand.
    static var current: GatehouseSystem {
        guard let running else {
            preconditionFailure("the suite lacks the trait .gatehouse(), or cannot be tried elsewhere")
        }
        return running
    }
}

/// Runs a whole system around a suite: started once before its first test, stopped after its last. With one that runs
/// elsewhere, no system is started.
struct GatehouseTrait: SuiteTrait, TestScoping {
    var tokensReplicas: Int
    var settings: [String: String]

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard RunningElsewhere.gateway == nil else { return try await function() }
        let ports = try SystemPorts(tokensReplicas: tokensReplicas)
        try await SystemPermits.shared.hold { [settings] in
            try await GatehouseSystem.run(ports: ports, settings: settings) { system in
                try await GatehouseSystem.$running.withValue(system, operation: function)
            }
        }
    }
}

/// Waits for a permit for the system that a suite's test starts itself. A test that waited for the permit would keep
/// one of the few that run at once from the others.
struct SystemPermitTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await SystemPermits.ofTests.hold(function)
    }
}

extension Trait where Self == GatehouseTrait {
    static func gatehouse(tokensReplicas: Int = 1, settings: [String: String] = [:]) -> GatehouseTrait {
        GatehouseTrait(tokensReplicas: tokensReplicas, settings: settings)
    }
}

extension Trait where Self == SystemPermitTrait {
    static var systemPermit: SystemPermitTrait { SystemPermitTrait() }
}
