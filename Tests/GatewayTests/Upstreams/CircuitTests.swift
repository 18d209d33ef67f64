import Testing

@testable import GatewayService

@Suite("Whether an address is asked")
struct CircuitTests {
    private let start: Int64 = 1_000_000_000_000

    @Test("A connection that can't be made sets aside at once, unanswered requests when there are several in a row")
    func opening() {
        var circuit = Circuit()
        #expect(circuit.isClosed && !circuit.isDue(now: start))
        circuit.failed(.unreachable, now: start)
        #expect(!circuit.isClosed)

        circuit = Circuit()
        for _ in 0..<3 {
            for _ in 1..<Circuit.noResponseLimit { circuit.failed(.noResponse, now: start) }
            #expect(circuit.isClosed)
            circuit.responded()
        }
        for _ in 0..<Circuit.noResponseLimit { circuit.failed(.noResponse, now: start) }
        #expect(!circuit.isClosed)
        circuit.responded()
        #expect(circuit == Circuit())
    }

    @Test("Statuses that tell of trouble count as requests without a response do, and with them")
    func errorStatus() {
        var circuit = Circuit()
        for number in 1..<Circuit.noResponseLimit {
            circuit.failed(number.isMultiple(of: 2) ? .errorStatus : .noResponse, now: start)
            #expect(circuit.isClosed)
        }
        circuit.failed(.errorStatus, now: start)
        #expect(!circuit.isClosed && !circuit.refusesConnections)
        for _ in 1..<Circuit.noResponseLimit { circuit.failed(.errorStatus, now: start) }
        circuit.responded()
        #expect(circuit == Circuit(), "they have to come in a row")
    }

    @Test("Only a refused connection says that connections are refused, until another attempt ends in another way")
    func refusal() {
        for failure in Circuit.Failure.allCases {
            var circuit = Circuit()
            for _ in 0..<Circuit.noResponseLimit { circuit.failed(failure, now: start) }
            #expect(!circuit.isClosed && circuit.refusesConnections == (failure == .refused))

            circuit = Circuit()
            circuit.failed(.refused, now: start)
            circuit.failed(failure, now: start)
            #expect(circuit.refusesConnections == (failure != .unreachable))
            circuit.connected()
            #expect(!circuit.refusesConnections && !circuit.isClosed, "several addresses need a response")
        }
    }

    @Test("An upstream answers a probe and then no request: it is set aside for twice as long")
    func passedProbe() {
        var circuit = Circuit()
        circuit.passedProbe(at: start)
        #expect(circuit == Circuit())
        circuit.failed(.unreachable, now: start)
        let due = start + Circuit.shortest
        circuit.passedProbe(at: due - 1)
        #expect(!circuit.isClosed, "asked too soon: its time aside grows for nothing then")
        circuit.passedProbe(at: due)
        #expect(circuit.isClosed)
        circuit.failed(.noResponse, now: due)
        #expect(!circuit.isClosed && !circuit.isDue(now: due + 2 * Circuit.shortest - 1))
        circuit.passedProbe(at: due + 2 * Circuit.shortest)
        circuit.responded()
        #expect(circuit == Circuit())
    }

    @Test("Each failure of a probe doubles the time aside, up to a limit; an answer ends it")
    func growth() {
        var circuit = Circuit()
        var now = start
        var times: [Int64] = []
        for _ in 0..<20 {
            circuit.failed(.unreachable, now: now)
            // Requests that were on their way when it was set aside say nothing new.
            for _ in 0..<10 { circuit.failed(.noResponse, now: now + 1) }
            var time = Circuit.shortest
            while !circuit.isDue(now: now + time) { time = min(time * 2, Circuit.longest) }
            #expect(!circuit.isDue(now: now + time - 1))
            times.append(time)
            now += time
        }
        #expect(Array(times.prefix(4)) == [1, 2, 4, 8].map { Circuit.shortest * $0 })
        #expect(times.suffix(10).allSatisfy { $0 == Circuit.longest })
        circuit.responded()
        circuit.failed(.unreachable, now: now)
        #expect(circuit.isDue(now: now + Circuit.shortest))
    }
}
