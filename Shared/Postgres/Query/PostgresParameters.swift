/// The encoded parameters of one query: all bytes in one buffer, since a query has many small values.
struct PostgresParameters: Sendable {
    struct Value: Sendable {
        let format: PostgresFormat
        /// Where the value starts in `bytes`; nil is NULL.
        let offset: Int?
        let length: Int
    }

    private(set) var bytes: [UInt8] = []
    private(set) var types: [PostgresType] = []
    private(set) var values: [Value] = []

    var count: Int { values.count }

    mutating func reserve(_ count: Int) {
        types.reserveCapacity(count)
        values.reserveCapacity(count)
        bytes.reserveCapacity(count * 24)
    }

    mutating func append<Encodable: PostgresEncodable>(_ value: Encodable) throws(PostgresError) {
        let offset = bytes.count
        let isPresent = try value.encode(into: &bytes)
        types.append(Encodable.postgresType)
        values.append(
            Value(
                format: Encodable.postgresFormat, offset: isPresent ? offset : nil, length: bytes.count - offset))
        // libpq reads a parameter in text form up to a zero byte, and wants an address for an empty value.
        bytes.append(0)
    }
}
