import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Why a server gave no answer, in a person's words: libraries say it by the names of their types and numbers.
public enum NetworkTrouble {
    public static let refused = "nobody listens there"
    public static let silent = "it does not answer in time"
    public static let unknownName = "its name leads to no address"
    public static let unreachable = "no way leads there from this machine"
    public static let hungUp = "it hangs up"
    public static let untrusted = "its certificate has expired, or is of an authority that is not trusted here"
    public static let otherName = "its certificate is for another name"
    public static let noTLS = "it does not speak TLS"
    public static let unconnected = "no connection comes about in time: it is away, or a firewall drops what is sent"

    /// What follows "gives no answer: ", without a full stop. What is not known here is told as it is.
    public static func words(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError: words(error)
        case let error as HTTPClientError: words(error) ?? "\(error)"
        case let error as IOError: words(ofErrno: error.errnoCode) ?? "\(error)"
        case let error as NIOSSLError: words(error)
        case let error as NIOSSLExtraError:
            error == .failedToValidateHostname ? otherName : "\(error)"
        case ChannelError.connectTimeout: unconnected
        case ChannelError.eof, ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: hungUp
        case is CertificateReader.NoTLS: noTLS
        default: "\(error)"
        }
    }

    private static func words(_ error: NIOConnectionError) -> String {
        guard let last = error.connectionErrors.last else { return unknownName }
        return words(last.error)
    }

    private static func words(_ error: HTTPClientError) -> String? {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout: unconnected
        case .deadlineExceeded, .readTimeout, .writeTimeout, .getConnectionFromPoolTimeout: silent
        case .remoteConnectionClosed: hungUp
        default: nil
        }
    }

    private static func words(_ error: NIOSSLError) -> String {
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return untrusted }
        if text.contains("WRONG_VERSION_NUMBER") { return noTLS }
        if case .uncleanShutdown = error { return hungUp }
        return text
    }

    private static func words(ofErrno code: CInt) -> String? {
        switch code {
        case ECONNREFUSED: refused
        case ETIMEDOUT: unconnected
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN: unreachable
        case ECONNRESET, EPIPE: hungUp
        default: nil
        }
    }
}
