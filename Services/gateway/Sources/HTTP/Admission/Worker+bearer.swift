import Contracts

/// What a request's bearer is worth.
extension Worker {
    enum Judgement {
        case missing
        case accepted(VerifiedToken)
        case refused(ErrorCode)
        case waitsForKeys
    }

    func judge(_ fields: FieldSection, _ bytes: UnsafeRawBufferPointer, on route: Route) -> Judgement {
        guard let line = fields.authorization else { return .missing }
        guard !fields.hasSeveralAuthorizations else { return .refused(.invalidToken) }
        let value = UnsafeRawBufferPointer(rebasing: bytes[fields.lines[line].value])
        let scheme = "bearer ".utf8.count
        guard value.count > scheme,
            UnsafeRawBufferPointer(rebasing: value[..<scheme]).equalsFolded("bearer ")
        else { return .refused(.invalidToken) }
        var start = scheme
        while start < value.count, value[start] == .space { start += 1 }
        let token = UnsafeRawBufferPointer(rebasing: value[start...])
        guard token.count <= HeadLimits.bearer else { return .refused(.headersTooLarge) }
        return switch bearers.verify(token, from: route.issuers, now: wallClock) {
        case .accepted(let token): .accepted(token)
        case .refused(let code): .refused(code)
        case .waitsForKeys: .waitsForKeys
        }
    }

    static func challenge(_ code: ErrorCode) -> String {
        guard code.status == 401 else { return "" }
        let description = code == .tokenExpired ? "The access token has expired" : "The access token is not valid"
        return """
            WWW-Authenticate: Bearer realm="gatehouse", error="invalid_token", error_description="\(description)"\r

            """
    }
}
