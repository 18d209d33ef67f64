import Foundation

/// What a person signs in with beside a password.
enum Identifier: Hashable, Sendable {
    case email(EmailAddress)
    case phone(PhoneNumber)

    /// - Parameter home: the country whose national phone numbers are understood; without one they are refused.
    init(_ text: String, home: PhoneRegion? = nil) throws(Refusal) {
        guard text.utf8.count <= 1024, !Text.trimmed(text).isEmpty else {
            throw Refusal("Please enter an e-mail address or a phone number.")
        }
        if text.precomposedStringWithCompatibilityMapping.contains("@") {
            self = .email(try EmailAddress(text))
        } else {
            self = .phone(try PhoneNumber(text, home: home))
        }
    }

    /// One of a certain kind.
    init(_ text: String, of kind: Kind, home: PhoneRegion? = nil) throws(Refusal) {
        self = try Identifier(text, home: home)
        guard self.kind == kind else {
            throw Refusal(kind == .email ? "This is not an e-mail address." : "This is not a phone number.")
        }
    }

    enum Kind: String, Codable, Sendable, CaseIterable {
        case email
        case phone
    }

    var kind: Kind {
        switch self {
        case .email: .email
        case .phone: .phone
        }
    }

    /// The form that is kept and compared.
    var value: String {
        switch self {
        case .email(let address): address.value
        case .phone(let number): number.value
        }
    }
}
