/// Request methods that a route can name (RFC 9110 §9). CONNECT and TRACE are none of them: neither is ever forwarded.
struct MethodSet: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    static let get = MethodSet(rawValue: 1 << 0)
    static let head = MethodSet(rawValue: 1 << 1)
    static let post = MethodSet(rawValue: 1 << 2)
    static let put = MethodSet(rawValue: 1 << 3)
    static let patch = MethodSet(rawValue: 1 << 4)
    static let delete = MethodSet(rawValue: 1 << 5)
    static let options = MethodSet(rawValue: 1 << 6)

    static let all: MethodSet = [.get, .head, .post, .put, .patch, .delete, .options]
    /// Asked for nothing but a response (RFC 9110 §9.2.1).
    static let safe: MethodSet = [.get, .head, .options]
    /// A second time changes nothing (RFC 9110 §9.2.2).
    static let idempotent: MethodSet = [.get, .head, .put, .delete, .options]

    private static let names: [(MethodSet, StaticString)] = [
        (.get, "GET"), (.head, "HEAD"), (.post, "POST"), (.put, "PUT"), (.patch, "PATCH"), (.delete, "DELETE"),
        (.options, "OPTIONS"),
    ]

    /// The one method of that name, case-sensitive; empty for a name that no route can have.
    init(name: UnsafeRawBufferPointer) {
        self =
            Self.names.first { _, known in
                known.utf8CodeUnitCount == name.count
                    && name.elementsEqual(UnsafeRawBufferPointer(start: known.utf8Start, count: name.count))
            }?.0 ?? []
    }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The one method of that name; `nil` for a name that no route can have.
    init?(_ name: String) {
        guard let known = Self.names.first(where: { "\($0.1)" == name }) else { return nil }
        self = known.0
    }

    /// Its methods, one by one.
    var each: [MethodSet] { Self.names.map(\.0).filter(contains) }

    /// As in an `Allow` field.
    var description: String {
        Self.names.filter { contains($0.0) }.map { "\($0.1)" }.joined(separator: ", ")
    }
}
