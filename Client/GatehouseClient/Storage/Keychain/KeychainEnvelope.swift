#if canImport(Security)
    import CryptoKit
    import Foundation

    /// The value of the session's item: a mark with the format's version, then what the session has saved, sealed or not.
    ///
    /// The first bytes of version 1 are `ghk1`. Whatever does not begin with `ghk` is from before there was a version, and
    /// is what the session has saved.
    enum KeychainEnvelope: Sendable {
        case plain(Data)
        case sealed(keyID: UUID, Data)

        private static let name = Data("ghk".utf8)
        private static let version = UInt8(ascii: "1")
        private static let plainKind = UInt8(ascii: "p")
        private static let sealedKind = UInt8(ascii: "s")
        private static let header = 5

        var keyID: UUID? {
            if case .sealed(let id, _) = self { id } else { nil }
        }

        func isCurrent(requiresBiometry: Bool) -> Bool { (keyID != nil) == requiresBiometry }

        /// - Throws: `fromLaterVersion`, or `corrupt` where the bytes are cut.
        init(_ bytes: Data) throws(TokenStoreError) {
            // Slices of Data keep their indices.
            let bytes = Data(bytes)
            guard bytes.starts(with: Self.name) else {
                self = .plain(bytes)
                return
            }
            if bytes.count > 3, bytes[3] > Self.version {
                throw TokenStoreError(.fromLaterVersion, "the Keychain's item")
            }
            guard bytes.count >= Self.header, bytes[3] == Self.version else {
                throw TokenStoreError(.corrupt, "cut off")
            }
            let rest = Data(bytes.dropFirst(Self.header))
            switch bytes[4] {
            case Self.plainKind: self = .plain(rest)
            case Self.sealedKind where rest.count > 16:
                let id = rest.prefix(16).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
                self = .sealed(keyID: UUID(uuid: id), Data(rest.dropFirst(16)))
            default: throw TokenStoreError(.corrupt, "of no known form")
            }
        }

        var data: Data {
            let head = Self.name + [Self.version]
            return switch self {
            case .plain(let data): head + [Self.plainKind] + data
            case .sealed(let id, let data): head + [Self.sealedKind] + Self.bytes(of: id) + data
            }
        }

        static func sealing(
            _ data: Data, with key: SymmetricKey, id: UUID
        ) throws(TokenStoreError) -> KeychainEnvelope {
            let box = try? AES.GCM.seal(data, using: key, authenticating: bytes(of: id))
            guard let combined = box?.combined else { throw TokenStoreError(.failed, "cannot be sealed") }
            return .sealed(keyID: id, combined)
        }

        static func open(_ sealed: Data, with key: SymmetricKey, id: UUID) throws(TokenStoreError) -> Data {
            do {
                return try AES.GCM.open(
                    try AES.GCM.SealedBox(combined: sealed), using: key, authenticating: bytes(of: id))
            } catch {
                throw TokenStoreError(.corrupt, "the seal is broken")
            }
        }

        private static func bytes(of id: UUID) -> Data { withUnsafeBytes(of: id.uuid) { Data($0) } }
    }
#endif
