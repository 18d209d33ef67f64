package import GatehouseContracts

/// A credential with which a signed-in user can authenticate again.
package enum ReauthenticationMethod: Sendable, Hashable {
    case password
    case apple
    /// A code that is sent to the user's verified address or number.
    case code(identifier: String)

    /// The methods that a user has, the simplest first.
    package static func all(of user: User) -> [Self] {
        var methods: [Self] = []
        if user.authProviders.contains(.password) { methods.append(.password) }
        if user.authProviders.contains(.apple) { methods.append(.apple) }
        if let email = user.email, user.emailVerified { methods.append(.code(identifier: email)) }
        if let phone = user.phone, user.phoneVerified == true { methods.append(.code(identifier: phone)) }
        return methods
    }
}
