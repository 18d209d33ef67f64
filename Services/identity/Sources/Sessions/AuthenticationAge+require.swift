import Contracts
import Foundation
import ServiceKit

extension AuthenticationAge {
    /// - Throws: `REAUTHENTICATION_REQUIRED` where the user's last proof is too old.
    func require(_ user: ForwardedUser) throws(Problem) {
        guard accepts(user.authenticatedAt, now: .now) else { throw .reauthenticationRequired(maximumAge: maximum) }
    }
}
