import Testing

@testable import GatewayService

@Suite("The limit of connections")
struct ConnectionLimitTests {
    @Test("Is what was asked for, where there are descriptors for it")
    func wanted() {
        let limit = ConnectionLimit(wanted: 20_000, descriptors: 1_048_576, upstreams: 4_096)
        #expect(limit.soft == 20_000 && limit.hard == 21_000)
        #expect(ConnectionLimit(1).hard == 2)
    }

    @Test(
        "Leaves room for the upstreams", arguments: [0, 256, 1024, 4096, 20_000, 1_048_576], [0, 100, 4096, 1 << 40])
    func room(descriptors: Int, upstreams: Int) {
        let limit = ConnectionLimit(wanted: 1_000_000, descriptors: descriptors, upstreams: upstreams)
        #expect(limit.soft >= 1)
        if descriptors > 1000 {
            #expect(limit.hard + min(upstreams, (descriptors - 256) / 2) + 256 <= descriptors)
            #expect(limit.soft > descriptors / 4)
        }
    }
}
