import AccessToken
import Crypto
import Foundation

/// Makes key files, for their owner's eyes only.
public struct KeyGenerator: Sendable {
    let mark: String

    /// - Parameter isForDevelopment: marks the files so that production refuses them.
    public init(isForDevelopment: Bool) {
        mark = isForDevelopment ? "# development\n" : ""
    }

    /// Writes an RSA key (PEM), and its public half where wanted.
    ///
    /// - Returns: the key's id: its thumbprint (RFC 7638).
    /// - Throws: `CocoaError` when a file is there already or cannot be written; `AccessTokenError`.
    public func writeSigningKey(bits: Int, to path: String, publicKeyTo publicPath: String?) throws -> String {
        let key = try RSAPrivateKey.generate(bits: bits)
        try write(key.pem, to: path)
        if let publicPath { try write(key.publicKey.pem, to: publicPath) }
        return key.publicKey.thumbprint
    }

    /// Writes a refresh keys file with one new key.
    ///
    /// - Throws: `CocoaError` when the file is there already or cannot be written.
    public func writeRefreshKey(id: UInt8, to path: String) throws {
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0).base64EncodedString() }
        try write("\(id):\(secret)\n", to: path)
    }

    /// The mode is set as the file is made: there is no moment in which others could open it.
    private func write(_ text: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw CocoaError(
                errno == EEXIST ? .fileWriteFileExists : .fileWriteUnknown,
                userInfo: [
                    NSFilePathErrorKey: path
                ])
        }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        try handle.write(contentsOf: Data((mark + text).utf8))
        try handle.synchronize()
    }
}
