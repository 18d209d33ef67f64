import Testing

@testable import IdentityService

@Suite struct Argon2CalibrationTests {
    /// A machine on which a hash takes a nanosecond for each KiB and pass.
    private func settled(_ calibration: Argon2Calibration, nanoseconds speed: Double = 1) -> (
        Argon2Parameters, Duration
    ) {
        var parameters = Argon2Calibration.first
        func time(_ parameters: Argon2Parameters) -> Duration {
            .nanoseconds(Int64(Double(parameters.memory * parameters.iterations) * speed))
        }
        for _ in 0..<3 { parameters = calibration.next(after: parameters, took: time(parameters)) }
        #expect(calibration.next(after: parameters, took: time(parameters)) == parameters)
        return (parameters, time(parameters))
    }

    @Test(
        arguments: [1, 10, 38, 40, 60, 100, 131, 262, 500, 1310, 5000], [19_456, 20_000, 65_536, 131_072, 1_000_000])
    func memoryComesFirst(target: Int, most: Int) {
        let (parameters, time) = settled(
            Argon2Calibration(target: .microseconds(target), maximumMemory: most))
        #expect(Argon2Parameters.memoryRange.contains(parameters.memory) && parameters.memory <= max(most, 19_456))
        #expect(Argon2Parameters.iterationsRange.contains(parameters.iterations) && parameters.parallelism == 1)
        let bound = min(most, 131_072)
        // No pass that memory could have been instead.
        if parameters.iterations > 2 {
            #expect((parameters.iterations - 1) * bound < target * 1000)
        }
        if parameters == .floor {
            #expect(target * 1000 < 2 * 20 * 1024 || bound < 20 * 1024)
        } else if parameters.iterations < 10 {
            #expect(time <= .microseconds(target))
            // Nine tenths of it, or another pass over the least memory would be too much.
            #expect(
                time > .microseconds(target) * 0.9 || (parameters.iterations + 1) * 19_456 > target * 1000)
        }
    }

    @Test func aSlowMachineKeepsTheFloorAndAFastOneTheCaps() {
        let calibration = Argon2Calibration(target: .milliseconds(1), maximumMemory: 131_072)
        #expect(settled(calibration, nanoseconds: 1e6).0 == .floor)
        #expect(settled(calibration, nanoseconds: 1e-9).0 == .init(memory: 131_072, iterations: 10, parallelism: 1))
    }
}
