import Testing

@testable import GatewayService

@Suite("Routes in force")
struct RouteStoreTests {
    private let system = Upstream.Authorities(file: nil, pem: nil)
    private let junk = Upstream.Authorities(file: "/ca.pem", pem: Array("junk".utf8))

    private func table(_ authorities: Upstream.Authorities...) throws -> RouteTable {
        try RouteTable(
            authorities.enumerated().map { number, authorities in
                .secure("/\(number)", host: "orders.test", port: 443, authorities: authorities)
            })
    }

    @Test("Upstreams with the same authorities share their TLS, and keep it when routes are replaced")
    func shared() throws {
        let store = try CurrentRoutes(table(system, system))
        #expect(store.inForce.tls.count == 1)
        let first = try #require(store.inForce.tls[system])
        try store.replace(table(system))
        #expect(store.inForce.tls[system] === first)
        try store.replace(RouteTable())
        #expect(store.inForce.tls.isEmpty)
    }

    @Test("Routes whose authorities are none are not put in force")
    func refused() throws {
        #expect(throws: (any Error).self) { try CurrentRoutes(table(junk)) }
        let store = try CurrentRoutes(table(system))
        #expect(throws: (any Error).self) { try store.replace(table(system, junk)) }
        #expect(store.table.routes.count == 1 && store.inForce.tls.count == 1)
    }
}
