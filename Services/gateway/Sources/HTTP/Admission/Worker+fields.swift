import Contracts

/// What a request's fields say.
extension Worker {
    /// How often an OPTIONS request may be forwarded; `nil` where the field says nothing that can be read.
    func hops(_ fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> Int? {
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

    func methodName(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes[..<(requestHead.target.lowerBound - 1)], as: UTF8.self)
    }

    func text(_ place: Int?, _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> String? {
        place.map { String(decoding: bytes[fields.lines[$0].value], as: UTF8.self) }
    }

    func identifier(_ fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        if let line = fields.requestID {
            let value = bytes[fields.lines[line].value]
            if RequestID.isValid(value) { return Array(value) }
        }
        return [UInt8](unsafeUninitializedCapacity: 32) { room, count in
            for half in 0..<2 {
                let number = random.next()
                for index in 0..<16 {
                    let digit = UInt8(truncatingIfNeeded: number >> UInt64(index * 4)) & 15
                    room[half * 16 + index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                }
            }
            count = 32
        }
    }

    func clientAddress(
        _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer, of peer: ClientPeer
    ) -> ClientAddress {
        guard peer.saysForWhom else { return peer.address }
        let list = Self.values(of: "x-forwarded-for", fields, bytes).joined(separator: ",")
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
        return gateway.settings.trustedProxies.client(
            behind: peer.address,
            forwardedFor: list.split(separator: ",").map { $0.drop(while: isBlank).prefix { !isBlank($0) } })
    }

    func isSecure(
        _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer, of peer: ClientPeer
    ) -> Bool {
        if peer.isSecure { return true }
        guard peer.saysForWhom else { return false }
        return Self.values(of: "x-forwarded-proto", fields, bytes).last == "https"
    }

    private static func values(
        of name: StaticString, _ fields: FieldSection, _ bytes: UnsafeRawBufferPointer
    ) -> [String] {
        fields.lines.filter {
            $0.name == .forwarded && UnsafeRawBufferPointer(rebasing: bytes[$0.nameRange]).equalsFolded(name)
        }.map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }
}
