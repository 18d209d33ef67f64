import Testing

@testable import GatewayService

@Suite("Which connection is closed for a new one")
struct ConnectionTableTests {
    private final class Connection {
        let name: String
        var idleSince: Int64?

        init(_ name: String, idleSince: Int64?) {
            self.name = name
            self.idleSince = idleSince
        }
    }

    private static let (home, office, site) = (key(0x0a00_0001), key(0x0a00_0002), key(0x0a00_0003))

    private static func key(_ ipv4: UInt32) -> AddressKey { AddressKey(value: 0xFFFF << 32 | UInt64(ipv4)) }

    private func take(_ table: inout ConnectionTable<Connection>, now: Int64 = 0) -> String? {
        table.takeLongestIdle(now: now, pause: 10, idleSince: \.idleSince)?.name
    }

    @Test("An IPv6 /48 is one network, and every IPv4 address one of its own")
    func networks() {
        var table = ConnectionTable<Connection>()
        let prefix: UInt64 = 0x2001_0db8_0001_0000
        for subnet: UInt64 in [0, 1, 0xFFFF] {
            table.enter(Connection("", idleSince: nil), of: AddressKey(value: prefix | subnet))
        }
        #expect(table.count(of: AddressKey(value: prefix | 7)) == 3)
        #expect(table.count(of: AddressKey(value: prefix + 0x1_0000)) == 0)
        table.enter(Connection("", idleSince: nil), of: Self.home)
        #expect(table.count(of: Self.home) == 1 && table.count(of: Self.office) == 0)
    }

    @Test("The longest idle one of the network that holds most, again and again, until the networks hold as many")
    func longestIdle() {
        var table = ConnectionTable<Connection>()
        var all: [(connection: Connection, address: AddressKey)] = []
        func enter(_ name: String, _ address: AddressKey, _ idleSince: Int64?) {
            let connection = Connection(name, idleSince: idleSince)
            all.append((connection, address))
            table.enter(connection, of: address)
        }
        func close(_ name: String?) {
            guard let place = all.firstIndex(where: { $0.connection.name == name }) else { return }
            let (connection, address) = all.remove(at: place)
            table.leave(connection, of: address)
        }
        enter("home 1", Self.home, 1)
        enter("office 5", Self.office, 5)
        enter("office 3", Self.office, 3)
        enter("office busy", Self.office, nil)
        enter("office 4", Self.office, 4)
        enter("office 6", Self.office, 6)
        for expected in ["office 3", "office 4", "office 5", "office 6", "home 1"] {
            let taken = take(&table)
            #expect(taken == expected)
            close(taken)
        }
        #expect(take(&table) == nil)
        close("office busy")
        #expect(table.count(of: Self.office) == 0 && table.count(of: Self.home) == 0)
    }

    @Test("One that has carried a request since it was found is passed over, as is one that has closed")
    func staleCandidates() {
        var table = ConnectionTable<Connection>()
        let connections = (1...5).map { Connection("\($0)", idleSince: Int64($0)) }
        for connection in connections { table.enter(connection, of: Self.home) }
        #expect(take(&table) == "1")
        connections[0].idleSince = nil
        connections[1].idleSince = nil
        connections[2].idleSince = 9
        table.leave(connections[3], of: Self.home)
        #expect(take(&table) == "5")
        connections[4].idleSince = nil
        #expect(take(&table) == "3")
    }

    @Test("Another network that has come to hold more is next")
    func otherNetwork() {
        var table = ConnectionTable<Connection>()
        for number in 1...3 { table.enter(Connection("home \(number)", idleSince: Int64(number)), of: Self.home) }
        #expect(take(&table) == "home 1")
        for number in 1...6 { table.enter(Connection("site \(number)", idleSince: Int64(number)), of: Self.site) }
        #expect(take(&table) == "site 1")
    }

    @Test("Where nothing is idle, it is not searched for again for a while")
    func pause() {
        var table = ConnectionTable<Connection>()
        let busy = Connection("late", idleSince: nil)
        table.enter(busy, of: Self.home)
        #expect(take(&table, now: 0) == nil)
        busy.idleSince = 1
        #expect(take(&table, now: 9) == nil)
        #expect(take(&table, now: 10) == "late")
    }

    @Test("However connections come and go, each is in one place and none is lost")
    func churn() throws {
        var random = FastRandom()
        var table = ConnectionTable<Connection>()
        var open: [(connection: Connection, address: AddressKey)] = []
        for step in 0..<20_000 {
            if Bool.random(using: &random) || open.isEmpty {
                let address = Self.key(UInt32.random(in: 0..<8, using: &random))
                open.append((Connection("", idleSince: Int64(step)), address))
                table.enter(open[open.count - 1].connection, of: address)
            } else {
                let (connection, address) = open.remove(at: Int.random(in: open.indices, using: &random))
                table.leave(connection, of: address)
                table.leave(connection, of: address)
            }
        }
        // They may all have gone.
        open.append((Connection("", idleSince: 20_000), Self.key(0)))
        table.enter(open[open.count - 1].connection, of: Self.key(0))
        for number: UInt32 in 0..<8 {
            #expect(table.count(of: Self.key(number)) == open.count { $0.address == Self.key(number) })
        }
        let most = open.map { table.count(of: $0.address) }.max()
        let taken = table.takeLongestIdle(now: 0, idleSince: \.idleSince)
        let address = try #require(open.first { $0.connection === taken }).address
        #expect(table.count(of: address) == most)
    }
}
