import Testing

@testable import GatehouseServiceKit

@Suite("The connections that a process takes")
struct ServerConnectionsTests {
    @Test("Are as many as are wanted, where there are descriptors for them")
    func wanted() {
        let connections = ServerConnections(descriptors: 1_048_576, taken: 48, loops: 16)
        #expect(connections.callers == ServerConnections.wanted && !connections.isLowered)
        #expect(connections.admin == 64)
    }

    @Test(
        "Leave descriptors for the process' own work",
        arguments: [200, 256, 1024, 4096, 20_000], [0, 48, 96])
    func room(descriptors: Int, taken: Int) {
        let connections = ServerConnections(descriptors: descriptors, taken: taken, loops: 2)
        #expect(connections.isLowered == (connections.callers < ServerConnections.wanted))
        #expect(connections.callers >= 8 && connections.admin >= 4)
        // Each may have one of its own to another service.
        #expect(connections.callers * 2 + connections.admin + taken + 32 + 6 <= max(descriptors, 225))
    }

    @Test("No limit is so low that the server lets no caller in", arguments: [0, 1, 40, 64], [0, 1 << 40])
    func few(descriptors: Int, taken: Int) {
        let connections = ServerConnections(descriptors: descriptors, taken: taken, loops: 64)
        #expect(connections.callers == 8 && connections.admin >= 4)
    }

    @Test("The process may have open as many files as the system allows")
    func raised() {
        let limit = FileDescriptors.raiseLimit()
        #expect(limit >= 1024)
        #expect(FileDescriptors.raiseLimit() == limit)
    }
}
