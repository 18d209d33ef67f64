import GatehouseServiceContracts

/// Reads the request's head.
extension RequestAdmission {
    func verifyBearer() -> CachingBearerVerifier.Verification? {
        guard let routeState, let line = fields.authorization else { return nil }
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
        let verification = worker.bearers.verify(token, from: routeState.route.issuers, now: wallClock)
        if case .accepted = verification { routeState.countToken(cached: worker.bearers.didFindLast) }
        return verification
    }

    var maxForwards: Int? {
        guard let line = fields.maxForwards, !fields.hasSeveralMaxForwards else { return nil }
        let digits = bytes[fields.lines[line].value]
        guard !digits.isEmpty else { return nil }
        var hops = 0
        for digit in digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
            hops = min(hops * 10 + Int(digit - UInt8(ascii: "0")), Self.mostHops)
        }
        return hops
    }

    private static let mostHops = 1_000_000_000

    /// Whether the client uses TLS, or a trusted proxy says so.
    var isSecure: Bool {
        if client.peer.isSecure { return true }
        guard client.peer.isTrustedProxy else { return false }
        return fields.forwardedValues(of: "x-forwarded-proto", in: bytes).last == "https"
    }

    // MARK: Before the checks

    /// The request's own identifier, where it is valid, or a new one.
    static func requestID(_ bytes: UnsafeRawBufferPointer, _ worker: Worker) -> [UInt8] {
        if let line = worker.requestHead.fields.requestID {
            let value = bytes[worker.requestHead.fields.lines[line].value]
            if RequestID.isValid(value) { return Array(value) }
        }
        return [UInt8](unsafeUninitializedCapacity: 32) { room, count in
            for half in 0..<2 {
                let number = worker.random.next()
                for index in 0..<16 {
                    let digit = UInt8(truncatingIfNeeded: number >> UInt64(index * 4)) & 15
                    room[half * 16 + index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                }
            }
            count = 32
        }
    }

    /// The peer's address, or the one that a trusted proxy tells.
    static func clientAddress(
        _ bytes: UnsafeRawBufferPointer, of peer: ClientPeer, _ worker: Worker
    ) -> ClientAddress {
        guard peer.isTrustedProxy else { return peer.address }
        let list = worker.requestHead.fields.forwardedValues(of: "x-forwarded-for", in: bytes).joined(separator: ",")
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
        return worker.gateway.settings.trustedProxies.client(
            behind: peer.address,
            forwardedFor: list.split(separator: ",").map { $0.drop(while: isBlank).prefix { !isBlank($0) } })
    }
}

extension FieldSection {
    /// The values of a field that proxies set.
    fileprivate func forwardedValues(of name: StaticString, in bytes: UnsafeRawBufferPointer) -> [String] {
        lines.filter {
            $0.name == .forwarded && UnsafeRawBufferPointer(rebasing: bytes[$0.nameRange]).equalsFolded(name)
        }.map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }
}
