import Foundation
import Testing

@testable import IdentityCredentials

@Suite struct PasswordHashTests {
    static let text =
        "$argon2id$v=19$m=19456,t=2,p=1,keyid=cDE$AQIDBAUGBwgJCgsMDQ4PEA$AQIDBAUGBwgJCgsMDQ4PEAECAwQFBgcICQoLDA0ODxA"

    @Test func aHashIsReadAsItWasWritten() throws {
        let hash = try #require(PasswordHash(Self.text))
        #expect(hash.phcString == Self.text)
        #expect(hash.pepperID == "p1")
        #expect(hash.parameters == .floor)
        #expect(hash.salt == Array(1...16))
        #expect(hash.hash.count == 32)
        let plain = Self.text.replacingOccurrences(of: ",keyid=cDE", with: "")
        #expect(PasswordHash(plain)?.phcString == plain)
    }

    @Test(
        arguments: [
            ("argon2id", "argon2i"), ("v=19", "v=16"), ("v=19$", ""), ("m=19456", "m=4000000000"),
            ("m=19456", "m=131073"), ("m=19456", "m=7"), ("m=19456", "m=-1"), ("t=2", "t=11"), ("t=2", "t=0"),
            ("p=1", "p=0"), ("p=1", "p=5"), ("p=1", "p=1,p=1"), ("p=1", "p=1,data=AA"), ("p=1", "p"), ("m=19456,", ""),
            ("keyid=cDE", "keyid=cDE="), ("AQIDBAUGBwgJCgsMDQ4PEA$", "$"), ("AQIDBAUGBwgJCgsMDQ4PEA$", "AQID$"),
            ("ODxA", "ODx"), ("ODxA", "ODxA$"), ("$argon2id", "x$argon2id"), ("AQID", "AQ ID"),
        ])
    func anotherFormIsRefused(part: String, replacement: String) {
        #expect(PasswordHash(Self.text.replacingOccurrences(of: part, with: replacement)) == nil)
    }

    /// A vector from the reference implementation's own tests (`src/test.c`).
    @Test func agreesWithTheReferenceImplementation() {
        let parameters = Argon2Parameters(memory: 65536, iterations: 2, parallelism: 1)
        let hash = Argon2.hash(Array("password".utf8), salt: Array("somesalt".utf8), parameters: parameters, length: 32)
        let hex = hash?.map { String(format: "%02x", $0) }.joined()
        #expect(hex == "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7")
    }

    // MARK: - Calibration

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

    // MARK: - Memory

    @Test func memoryIsReusedAndReleased() throws {
        let memory = HashMemory()
        let block = try #require(memory.take(1 << 20))
        memory.release(block, size: 1 << 20)
        #expect(memory.take(1 << 20) == block)
        memory.release(block, size: 1 << 20)
        memory.trim(idleFor: .seconds(60))
        #expect(memory.take(1 << 20) == block)
        memory.release(block, size: 1 << 20)
        memory.trim(idleFor: .zero)
        #expect(memory.isEmpty)
    }
}
