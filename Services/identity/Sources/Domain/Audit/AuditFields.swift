/// Fields one after the other, each with its length, so that no two lists of fields give the same bytes.
struct AuditFields {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ field: [UInt8]?) {
        guard let field else { return bytes.append(0) }
        bytes.append(1)
        withUnsafeBytes(of: UInt32(field.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: field)
    }

    mutating func append(_ field: String?) {
        append(field.map { Array($0.utf8) })
    }

    mutating func append(_ field: Int64?) {
        append(field.map { String($0) })
    }
}
