import Bytes
import Foundation

/// Which users an operator looks for. Without anything: all of them.
struct UserSearch: Sendable, Equatable {
    var identifier: IdentifierPrefix?
    var id: IDPrefix?
    var state: AccountState?
    var role: Role?

    /// In which order the users are listed, so that an index gives them in that order.
    var order: Order { identifier != nil ? .identifier : id != nil ? .id : .age }

    enum Order: Sendable {
        case identifier, id
        /// The newest first.
        case age
    }
}

/// Where a page of users ended.
enum UserCursor: Sendable, Equatable {
    case identifier(String)
    case id(UUID)
    case age(Date, UUID)

    /// As it is handed out, and handed back.
    var text: String {
        switch self {
        case .identifier(let value): Base64URL.string(Array(value.utf8))
        case .id(let id): id.uuidString.lowercased()
        case .age(let time, let id): "\(time.microseconds).\(id.uuidString.lowercased())"
        }
    }

    /// - Throws: where it is not the cursor of a list in this order.
    init(_ text: String, order: UserSearch.Order) throws(Refusal) {
        let refusal = Refusal("This is not the next of such a list.")
        guard text.utf8.count <= 1024 else { throw refusal }
        switch order {
        case .identifier:
            guard let bytes = Base64URL.decode(text), let value = String(validating: bytes, as: UTF8.self),
                !value.unicodeScalars.contains(where: Text.isInvisible)
            else { throw refusal }
            self = .identifier(value)
        case .id:
            guard let id = UUID(uuidString: text) else { throw refusal }
            self = .id(id)
        case .age:
            guard let (time, id) = Date.microseconds(leading: text), let id = UUID(uuidString: id) else {
                throw refusal
            }
            self = .age(time, id)
        }
    }
}

extension Date {
    /// Since 1970, as exactly as PostgreSQL keeps times.
    var microseconds: Int64 { Int64((timeIntervalSince1970 * 1_000_000).rounded()) }

    /// Reads `MICROSECONDS.REST`.
    static func microseconds(leading text: String) -> (Date, rest: String)? {
        let parts = text.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let count = Int64(parts[0]), (0...4_102_444_800_000_000).contains(count) else {
            return nil
        }
        return (Date(timeIntervalSince1970: Double(count) / 1_000_000), String(parts[1]))
    }
}
