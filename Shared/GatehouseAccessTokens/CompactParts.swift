public import GatehouseBytes

/// The three parts of a JWS in compact form (RFC 7515 §7.1), still encoded.
public struct CompactParts: Sendable {
    public let header: ArraySlice<UInt8>
    public let payload: ArraySlice<UInt8>
    public let signature: ArraySlice<UInt8>
    /// The bytes that the signature covers: header, dot, payload.
    public let signingInput: ArraySlice<UInt8>

    /// - Throws: `malformed`, unless the token has exactly three parts.
    public init(_ token: [UInt8]) throws(AccessTokenError) {
        let dot = UInt8(ascii: ".")
        guard let first = token.firstIndex(of: dot), let second = token[(first + 1)...].firstIndex(of: dot),
            !token[(second + 1)...].contains(dot)
        else { throw .malformed("The token does not have three parts.") }
        header = token[..<first]
        payload = token[(first + 1)..<second]
        signature = token[(second + 1)...]
        signingInput = token[..<second]
    }
}

/// The header of a signed token: `alg`, `typ` and `kid` (RFC 7515 §4).
public struct JOSEHeader: Sendable {
    /// Members that change how a token is read, or that bring a key along. Gatehouse implements none of them, and a
    /// token must not choose its own key.
    private static let unsupported: Set<VerbatimString> = ["crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c"]

    public let algorithm: VerbatimString
    /// Empty if absent.
    let type: String
    public let kid: VerbatimString

    /// Whether the type is absent, or only says that the token is a JWT (RFC 7519 §5.1).
    public var isJWT: Bool { TokenMediaType.isJWT(type) }

    /// - Parameter refuses: whether the header may not have another member of that name. All others are ignored.
    private init(_ encoded: ArraySlice<UInt8>, refuses: (VerbatimString) -> Bool) throws(AccessTokenError) {
        guard let json = Base64URL.decode(encoded) else {
            throw .malformed("The header is not canonical base64url.")
        }
        var algorithm, kid: VerbatimString?
        var type = ""
        var scanner = JSONScanner(json)
        try scanner.object { (name, scanner) throws(AccessTokenError) in
            switch name {
            case "alg": algorithm = try scanner.name()
            case "typ": type = try scanner.string()
            case "kid": kid = try scanner.name()
            case _ where refuses(name): throw .malformed("The header has a member that is not supported.")
            default: try scanner.skipValue()
            }
        }
        try scanner.end()
        guard let algorithm else { throw AccessTokenError(.wrongAlgorithm, "The header has no algorithm.") }
        guard let kid else { throw .malformed("The header has no kid.") }
        self.algorithm = algorithm
        self.type = type
        self.kid = kid
    }

    /// The header of another issuer's token. It may have members of the issuer's own, which are ignored (RFC 7515 §4).
    ///
    /// - Throws: `malformed`, `wrongAlgorithm` without an algorithm.
    public init(foreign encoded: ArraySlice<UInt8>) throws(AccessTokenError) {
        try self.init(encoded) { Self.unsupported.contains($0) }
    }

    /// The header of one of Gatehouse's own tokens. It has no further members.
    init(own encoded: ArraySlice<UInt8>) throws(AccessTokenError) {
        try self.init(encoded) { _ in true }
        guard algorithm == "RS256" else { throw AccessTokenError(.wrongAlgorithm, "The algorithm is not RS256.") }
        guard TokenMediaType.isAccessToken(type) else { throw AccessTokenError(.wrongType, "Not an access token.") }
    }

    /// The header as every `AccessTokenSigner` with that key writes it.
    static func encoded(kid: String) -> [UInt8] {
        var header = JSONWriter()
        header.object {
            $0.member("alg", "RS256")
            $0.member("typ", "at+jwt")
            $0.member("kid", kid)
        }
        return Base64URL.encode(header.bytes)
    }
}

/// A `typ`: a case-insensitive media type whose `application/` may be omitted (RFC 7515 §4.1.9).
enum TokenMediaType {
    /// RFC 9068 §4.
    static func isAccessToken(_ text: String) -> Bool { names(text, "at+jwt") }

    /// Whether the type is absent, or only says that the token is a JWT (RFC 7519 §5.1).
    static func isJWT(_ text: String) -> Bool { text.isEmpty || names(text, "jwt") }

    /// - Parameter type: in lower case, without `application/`.
    private static func names(_ text: String, _ type: StaticString) -> Bool {
        let folded = text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        let prefix = Array("application/".utf8)
        let rest = folded.starts(with: prefix) ? folded[prefix.count...] : folded[...]
        return type.withUTF8Buffer { rest.elementsEqual($0) }
    }
}
