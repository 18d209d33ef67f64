import Foundation
import GatehouseServiceContracts

/// What a push to a segment costs for each device, and how much memory devices has meanwhile.
extension PushBenchmark {
    private static let devices = 20_000
    private static let segmentPushes = 5

    /// - Parameter registered: devices that are there already.
    func measureSegment(registered: Int) async throws {
        for number in registered..<Self.devices { try await register(UUID(), number) }
        let processes = try system.processes("devices", "postgres")
        let idle = try processes[0].privateMemory()
        // The first push verifies the tokens, and writes so.
        try await waitUntilDone(push(to: .init(segment: .init())))
        var most = idle
        let before = try processes.map { try $0.cpuTime() }
        let start = ContinuousClock.now
        for _ in 0..<Self.segmentPushes {
            try await waitUntilDone(push(to: .init(segment: .init()))) {
                most = max(most, try processes[0].privateMemory())
            }
        }
        let after = try processes.map { try $0.cpuTime() }
        Table.line(
            Measurement(
                name: "a push to a segment, for each device", operations: Self.segmentPushes * Self.devices,
                elapsed: .now - start, cpu: zip(processes, zip(before, after)).map { ($0.name, $1.1 - $1.0) }))
        Table.note(
            "Private memory of devices: \(Table.number(Double(idle) / 1e6)) MB before, at most "
                + "\(Table.number(Double(most) / 1e6)) MB while segments are sent")
    }
}
