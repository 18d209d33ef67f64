import Bytes

/// A JSON text as a tree. Numbers keep their spelling.
enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([VerbatimString: JSONValue])
}
