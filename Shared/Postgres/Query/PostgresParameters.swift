/// The encoded parameters of one query: all bytes in one buffer, since a query has many small values.
struct PostgresParameters: Sendable {
    struct Entry: Sendable {
        let type: PostgresType
        let format: PostgresFormat
        /// Where the value starts in `bytes`; nil is NULL.
        let offset: Int?
        let length: Int
    }

    private(set) var bytes: [UInt8] = []
    private(set) var entries: [Entry] = []

    var count: Int { entries.count }
    var types: [PostgresType] { entries.map(\.type) }

    mutating func reserve(_ count: Int) {
        entries.reserveCapacity(count)
        bytes.reserveCapacity(count * 24)
    }

    mutating func append<Value: PostgresEncodable>(_ value: Value) throws(PostgresError) {
        let offset = bytes.count
        let present = try value.encode(into: &bytes)
        entries.append(
            Entry(
                type: Value.postgresType, format: Value.postgresFormat, offset: present ? offset : nil,
                length: bytes.count - offset))
        // libpq reads a parameter in text form up to a zero byte, and wants an address for an empty value.
        bytes.append(0)
    }
}
