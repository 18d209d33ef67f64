import Foundation
import GatehouseServiceContracts
import NIOHTTP1

/// An attacker's request. The response time must not reveal which one of a pair it was.
enum TimingCase: String, CaseIterable {
    case unknownUser = "login: unknown user"
    case wrongPassword = "login: wrong password"
    case disabledAccount = "login: disabled account"
    case unknownForgotten = "forgot: unknown identifier"
    case knownForgotten = "forgot: known identifier"
    case unknownCode = "code: unknown identifier"
    case knownCode = "code: known identifier"

    static let pairs: [(TimingCase, TimingCase)] = [
        (.unknownUser, .wrongPassword), (.unknownUser, .disabledAccount), (.wrongPassword, .disabledAccount),
        (.unknownForgotten, .knownForgotten), (.unknownCode, .knownCode),
    ]

    var path: String {
        switch self {
        case .unknownUser, .wrongPassword, .disabledAccount: "/v1/auth/login"
        case .unknownForgotten, .knownForgotten: "/v1/auth/password/forgot"
        case .unknownCode, .knownCode: "/v1/auth/code"
        }
    }

    /// What each is answered.
    var status: HTTPResponseStatus {
        switch self {
        case .unknownUser, .wrongPassword, .disabledAccount: .unauthorized
        case .unknownForgotten, .knownForgotten, .unknownCode, .knownCode: .accepted
        }
    }

    func body(_ identifier: String) throws -> Data {
        switch self {
        case .unknownUser, .wrongPassword, .disabledAccount:
            try JSON.encode(LoginRequest(identifier: identifier, password: "not the right password"))
        case .unknownForgotten, .knownForgotten: try JSON.encode(ForgotPasswordRequest(identifier: identifier))
        case .unknownCode, .knownCode: try JSON.encode(CodeRequest(identifier: identifier, purpose: .signIn))
        }
    }
}
