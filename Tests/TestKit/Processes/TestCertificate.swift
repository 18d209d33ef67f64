public import Foundation

/// A certificate for 127.0.0.1 and localhost, and the authority that signed it, as PEM files made by `openssl`.
public struct TestCertificate: Sendable {
    public let authority: URL
    public let certificate: URL
    public let key: URL

    /// The files that ``make(in:)`` created.
    init(in folder: URL) {
        authority = folder.appending(path: "authority.pem")
        certificate = folder.appending(path: "certificate.pem")
        key = folder.appending(path: "key.pem")
    }

    /// - Parameters:
    ///   - folder: a folder for this certificate alone.
    ///   - names: the certificate's names, in the form of `subjectAltName`.
    public static func make(
        in folder: URL, for names: String = "DNS:localhost,IP:127.0.0.1"
    ) async throws -> TestCertificate {
        let files = TestCertificate(in: folder)
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        let authorityKey = folder.appending(path: "authority-key.pem").path
        try await openssl(
            ["req", "-x509", "-subj", "/CN=Test authority", "-keyout", authorityKey, "-out", files.authority.path]
                + newKey)
        try await openssl(
            [
                "req", "-x509", "-subj", "/CN=localhost", "-keyout", files.key.path, "-out", files.certificate.path,
                "-CA", files.authority.path, "-CAkey", authorityKey,
                "-addext", "subjectAltName=\(names)", "-addext", "basicConstraints=critical,CA:FALSE",
            ] + newKey)
        return files
    }

    private static func openssl(_ arguments: [String]) async throws {
        let status = try await TestProcess("openssl", arguments).waitForExit()
        guard status == 0 else { throw TestKitError("openssl \(arguments[0]) failed with \(status).") }
    }
}
