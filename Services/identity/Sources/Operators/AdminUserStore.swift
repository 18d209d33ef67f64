import Foundation
import GatehouseServiceContracts
import IdentityCore
import Postgres

/// Users as operators see them.
struct AdminUserStore: Sendable {
    let database: PostgresPool

    /// The columns of the account, the user's own address, the last sign-in, and the tasks that tokens has not
    /// received.
    private static let columns = """
        \(Account.columns), e.value AS own_email,
        (SELECT x.at FROM audit_entries x WHERE x.user_id = u.id AND x.event = 'signed_in' ORDER BY x.id DESC LIMIT 1)
            AS last_sign_in_at,
        ARRAY(SELECT DISTINCT o.kind FROM outbox o WHERE o.user_id = u.id AND o.destination = 'tokens' ORDER BY o.kind)
            AS pending
        """

    func user(_ id: UUID) async throws -> AdminUser? {
        try await database.query(
            "SELECT \(unescaped: Self.columns) FROM users u \(unescaped: Account.joins) WHERE u.id = \(id)"
        ).first.map(AdminUser.init)
    }

    /// The users of a page, and the cursor of the next page; `nil` after the last.
    ///
    /// The page is selected first, in the order of an index. Only then are the users' columns read.
    func list(
        _ search: UserSearch, after cursor: UserCursor?, limit: Int
    ) async throws -> (users: [AdminUser], next: UserCursor?) {
        let rows = try await database.query(
            """
            SELECT \(unescaped: Self.columns), page.value AS page_value, page.created_at AS page_created_at
            FROM (\(pageOf: search, after: cursor, limit: limit + 1)) page
                JOIN users u ON u.id = page.id \(unescaped: Account.joins)
            ORDER BY \(unescaped: search.order.ofUsers)
            """)
        let shown = rows.prefix(limit)
        guard rows.count > limit, let last = shown.last else { return (try shown.map(AdminUser.init), nil) }
        let id: UUID = try last.decode("id")
        let next: UserCursor =
            switch search.order {
            case .identifier: .identifier(try last.decode("page_value"))
            case .id: .id(id)
            case .age: .age(try last.decode("page_created_at"), id)
            }
        return (try shown.map(AdminUser.init), next)
    }
}

extension AdminUser {
    fileprivate init(_ row: PostgresRow) throws {
        let account = try Account(row)
        let email: String? = try row.decode("own_email")
        let pending: [String] = try row.decode("pending")
        let identifiers = [
            email.map { value in
                let unicode = EmailAddress.unicode(value)
                return Identifier(
                    kind: "email", value: value, verified: account.emailVerified,
                    unicode: unicode == value ? nil : unicode)
            },
            account.phone.map { Identifier(kind: "phone", value: $0, verified: account.phoneVerified) },
        ]
        self.init(
            user: account.user, state: account.state.rawValue, identifiers: identifiers.compactMap(\.self),
            lastSignInAt: try row.decode("last_sign_in_at"), pending: pending.isEmpty ? nil : pending)
    }
}

extension UserSearch.Order {
    /// Order of the statement that selects the page. It compares bytes, as the index does.
    fileprivate var ofPage: String { self == .identifier ? "i.value USING ~<~" : ofUsers }

    /// Order of the selected users.
    fileprivate var ofUsers: String {
        switch self {
        case .identifier: "page.value USING ~<~"
        case .id: "u.id"
        case .age: "u.created_at DESC, u.id DESC"
        }
    }
}

extension PostgresQuery.Interpolation {
    /// The ids of one page, with the values that they are sorted by.
    fileprivate mutating func appendInterpolation(pageOf search: UserSearch, after cursor: UserCursor?, limit: Int) {
        if search.order == .identifier {
            appendLiteral(
                "SELECT u.id, i.value, u.created_at FROM identifiers i JOIN users u ON u.id = i.user_id WHERE true")
        } else {
            appendLiteral("SELECT u.id, NULL::text AS value, u.created_at FROM users u WHERE true")
        }
        appendConditions(of: search)
        appendCondition(after: cursor)
        appendLiteral(" ORDER BY \(search.order.ofPage) LIMIT ")
        appendInterpolation(limit)
    }

    private mutating func appendConditions(of search: UserSearch) {
        if let identifier = search.identifier {
            appendLiteral(" AND i.value ~>=~ ")
            appendInterpolation(identifier.value)
            appendLiteral(" AND i.value ~<~ ")
            appendInterpolation(identifier.end)
        }
        if let id = search.id {
            appendLiteral(" AND u.id >= ")
            appendInterpolation(id.first)
            appendLiteral(" AND u.id <= ")
            appendInterpolation(id.last)
        }
        // The conditions are literals, so that the planner can use the small indexes.
        switch search.state {
        case .active: appendLiteral(" AND u.state = 'active'")
        case .disabled: appendLiteral(" AND u.state = 'disabled'")
        case nil: break
        }
        if let role = search.role {
            appendLiteral(" AND u.role = ")
            appendInterpolation(role.name)
            if role != .user { appendLiteral(" AND u.role <> 'user'") }
        }
    }

    private mutating func appendCondition(after cursor: UserCursor?) {
        switch cursor {
        case .identifier(let value):
            appendLiteral(" AND i.value ~>~ ")
            appendInterpolation(value)
        case .id(let id):
            appendLiteral(" AND u.id > ")
            appendInterpolation(id)
        case .age(let time, let id):
            appendLiteral(" AND (u.created_at, u.id) < (")
            appendInterpolation(time)
            appendLiteral(", ")
            appendInterpolation(id)
            appendLiteral(")")
        case nil: break
        }
    }
}
