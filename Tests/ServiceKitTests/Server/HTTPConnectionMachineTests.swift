import GatehouseServiceContracts
import Testing

@testable import GatehouseServiceKit

@Suite struct HTTPConnectionMachineTests {
    typealias Machine = HTTPConnectionMachine

    /// A connection with requests that have arrived, and whose responses are still to be written.
    private func machine(requests: Int = 0, isLast: Bool = false) -> Machine {
        var machine = Machine()
        for number in 0..<requests {
            _ = machine.receivedHead(expectsContinue: false, isLast: isLast && number == requests - 1)
            _ = machine.receivedEnd()
        }
        return machine
    }

    private func expectDropping(_ machine: inout Machine) {
        #expect(machine.isLingering && !machine.awaitsRestOfRequest)
        #expect(!machine.isOpen)
        #expect(machine.receivedBody(1) == .drop)
        #expect(machine.receivedEnd() == .drop)
        #expect(machine.receivedError(.invalidRequest) == .drop)
        #expect(machine.receivedError(nil) == .drop)
    }

    @Test func requestsFollowEachOther() {
        var machine = Machine()
        for _ in 0..<3 {
            #expect(!machine.awaitsRestOfRequest)
            #expect(machine.receivedHead(expectsContinue: false, isLast: false) == false)
            #expect(machine.awaitsRestOfRequest)
            #expect(machine.receivedBody(1 << 30) == .forward)
            #expect(machine.receivedEnd() == .forward)
            #expect(!machine.awaitsRestOfRequest)
            #expect(machine.responseEnded() == .none)
        }
    }

    @Test func onlyTheFirstRequestIsContinued() {
        var machine = Machine()
        #expect(machine.receivedHead(expectsContinue: true, isLast: false) == true)
        #expect(machine.receivedEnd() == .forward)
        #expect(machine.receivedHead(expectsContinue: true, isLast: false) == false)
    }

    @Test func theConnectionIsClosedAfterTheLastResponse() {
        var requested = machine(requests: 2, isLast: true)
        #expect(requested.responseEnded() == .none)
        #expect(requested.responseEnded() == .close)
        expectDropping(&requested)

        var announced = machine(requests: 1)
        announced.responseCloses()
        #expect(announced.responseEnded() == .close)
    }

    @Test func aResponseBeforeTheEndOfItsRequestLingers() {
        var machine = Machine()
        _ = machine.receivedHead(expectsContinue: false, isLast: false)
        machine.responseCloses()
        #expect(machine.responseEnded() == .linger)
        expectDropping(&machine)
        #expect(machine.receivedBody(Machine.lingerLimit - 1) == .drop)
        #expect(machine.receivedBody(1) == .close)
        #expect(machine.receivedBody(1) == .drop)
        #expect(!machine.isLingering)
    }

    /// The second request is never served, so its end is not awaited.
    @Test func aRequestBehindTheLastResponseIsDropped() {
        var machine = machine(requests: 1)
        _ = machine.receivedHead(expectsContinue: false, isLast: false)
        machine.responseCloses()
        #expect(machine.responseEnded() == .linger)
        expectDropping(&machine)
        #expect(machine.responseEnded() == .none)
        #expect(machine.isLingering)
    }

    @Test("Bytes that are not HTTP follow requests: they are refused after the responses")
    func invalidBytes() {
        var alone = machine()
        #expect(alone.receivedError(.headersTooLarge) == .refuse(.headersTooLarge))
        expectDropping(&alone)

        var behind = machine(requests: 2)
        #expect(behind.receivedError(.invalidRequest) == .drop)
        #expect(behind.responseEnded() == .none)
        #expect(behind.responseEnded() == .refuse(.invalidRequest))
        expectDropping(&behind)
    }

    @Test func aBodyThatIsNotHTTPEndsItsRequest() {
        var machine = Machine()
        _ = machine.receivedHead(expectsContinue: false, isLast: false)
        #expect(machine.receivedError(.invalidRequest) == .forward)
        #expect(machine.responseEnded() == .linger)
        expectDropping(&machine)
    }

    @Test func otherErrorsAreForwarded() {
        var machine = machine(requests: 1)
        #expect(machine.receivedError(nil) == .forward)
        #expect(machine.responseEnded() == .none)
    }

    @Test func aClosedConnectionDropsEverything() {
        var machine = machine(requests: 1, isLast: true)
        machine.closed()
        #expect(!machine.isOpen)
        #expect(machine.receivedBody(1) == .drop)
        #expect(machine.receivedEnd() == .drop)
        #expect(machine.receivedError(.invalidRequest) == .forward)
        #expect(machine.responseEnded() == .none)
        #expect(!machine.isLingering && !machine.awaitsRestOfRequest)
    }
}
