import Dispatch
import Synchronization
import TestKit
import Testing

@testable import GatehouseThreads

@Suite("The system's resolver")
struct NameResolverTests {
    @Test("Names whose servers are silent hold a thread each, however often they are asked for, and delay no other")
    func silent() async throws {
        let end = DispatchSemaphore(value: 0)
        let asked = Mutex<[String: Int]>([:])
        let resolver = NameResolver(limit: 20, slowFrom: .zero) { host in
            asked.withLock { $0[host, default: 0] += 1 }
            guard host.hasPrefix("silent") else { return .success(["::1"]) }
            end.wait()
            return .failure(NameResolverError(.notFound, "silent"))
        }
        let waiting = (0..<30).map { number in
            Task { try await resolver.addresses(of: "silent\(number % 15)") }
        }
        try await eventually("all silent names were asked for") { asked.withLock { $0.count } == 15 }
        for number in 0..<40 { #expect(try await resolver.addresses(of: "well\(number)").count == 1) }
        #expect(asked.withLock { asked in (0..<15).allSatisfy { asked["silent\($0)"] == 1 } })
        // A caller with no time left leaves it to end alone, and the next caller waits for its end too.
        waiting[0].cancel()
        await #expect(throws: NameResolverError.self) { try await waiting[0].value }
        for _ in 0..<15 { end.signal() }
        for task in waiting.dropFirst() {
            await #expect(throws: NameResolverError.self) { try await task.value }
        }
    }

    @Test("Of all threads half are kept for names that were not slow")
    func queue() {
        var queue = LookupQueue(limit: 4)
        for number in 0..<4 { #expect(queue.request("s\(number)") == ["s\(number)"]) }
        #expect(queue.request("s1").isEmpty && queue.request("w").isEmpty && queue.request("w").isEmpty)
        #expect(queue.ended("s0", wasSlow: true) == ["w"])
        #expect(queue.request("s0").isEmpty)
        // The three others are not known to be slow before they end.
        #expect(queue.ended("s1", wasSlow: true) == ["s0"])
        #expect(queue.ended("s2", wasSlow: true).isEmpty && queue.request("s1") == ["s1"])
        #expect(queue.request("s2").isEmpty, "two of four are taken by slow ones")
        #expect(queue.ended("w", wasSlow: false).isEmpty)
        #expect(queue.request("w") == ["w"])
        #expect(queue.ended("s3", wasSlow: true).isEmpty && queue.request("w2") == ["w2"])
        #expect(queue.ended("s0", wasSlow: false) == ["s2"])
        #expect(queue.ended("s1", wasSlow: false).isEmpty && queue.request("s0") == ["s0"])
    }

    @Test("A look-up without an answer: callers stop at their deadline or cancellation, and one thread waits for all")
    func deadlines() async throws {
        let gate = DispatchSemaphore(value: 0)
        let lookups = Mutex(0)
        let resolver = NameResolver { _ in
            lookups.withLock { $0 += 1 }
            gate.wait()
            return .success(["10.0.0.1"])
        }
        for _ in 1...3 {
            let error = await #expect(throws: NameResolverError.self) {
                try await resolver.addresses(of: "h", until: .now + .milliseconds(20))
            }
            #expect(error?.code == .timedOut)
        }
        let cancelled = Task { try await resolver.addresses(of: "h", until: .now + .seconds(600)) }
        cancelled.cancel()
        let error = await #expect(throws: NameResolverError.self) { try await cancelled.value }
        #expect(error?.code == .cancelled && lookups.withLock(\.self) == 1)
        let waiting = Task { try await resolver.addresses(of: "h") }
        for _ in 1...2 { gate.signal() }
        #expect(try await waiting.value == ["10.0.0.1"])
    }

    @Test("The system resolves localhost, and says why it cannot resolve another name")
    func system() async throws {
        let found = try await NameResolver.shared.addresses(of: "localhost", until: .now + .seconds(60))
        #expect(!found.isEmpty && found.allSatisfy { ["127.0.0.1", "::1"].contains($0) }, "\(found)")
        let error = await #expect(throws: NameResolverError.self) {
            try await NameResolver.shared.addresses(of: "nobody.invalid")
        }
        #expect(error?.code == .notFound && error?.description.contains("nobody.invalid") == true)
    }
}
