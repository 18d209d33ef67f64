import Foundation
import NIOCore

/// Why a connection to an upstream's address could not be made.
enum ConnectFailure: Error, Equatable {
    /// Nothing listens there.
    case refused
    case unreachable
    /// This process had no port, descriptor or memory for it: the address is not to blame.
    case exhausted

    init(_ error: any Error) {
        self =
            switch (error as? IOError)?.errnoCode {
            case ECONNREFUSED: .refused
            case EADDRNOTAVAIL, EADDRINUSE, EMFILE, ENFILE, ENOBUFS, ENOMEM: .exhausted
            default: .unreachable
            }
    }

    /// What the request fails with that was to be sent there.
    var ofRequest: ExchangeState.Failure { self == .exhausted ? .exhausted : .unreachable }
}
