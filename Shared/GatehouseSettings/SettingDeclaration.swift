/// A setting that a service reads: its names, its possible values, and its purpose. `<service> describe` prints it.
package struct SettingDeclaration: Sendable, Equatable {
    /// What a value is.
    package enum Kind: String, Sendable, Encodable {
        case text
        /// Texts, separated by commas.
        case list
        case integer
        case number
        case boolean
        case choice
        case path
        case url
        /// URLs, separated by commas.
        case urls
        /// A host and a port to listen on.
        case address
    }

    package let name: SettingName
    package let kind: Kind
    /// What the setting is for. It may contain Markdown's marks of code.
    package let meaning: String
    /// What a missing setting means in the environment that was read, in `describe` production; `nil` if that is no
    /// value.
    package let defaultText: String?
    /// The same in development, where it differs.
    package var developmentDefault: String?
    /// Whether the service refuses to start without the setting in that environment.
    package let isRequired: Bool
    package let isSecret: Bool
    package let unit: String?
    /// The limits of a number, `Int.max` for none.
    package let range: ClosedRange<Int>?
    /// All possible values.
    package let choices: [String]?

    init(
        _ name: SettingName, _ kind: Kind, _ meaning: String, default defaultText: String? = nil,
        isRequired: Bool = false, isSecret: Bool = false, unit: String? = nil, range: ClosedRange<Int>? = nil,
        choices: [String]? = nil
    ) {
        self.name = name
        self.kind = kind
        self.meaning = meaning
        self.defaultText = defaultText
        self.isRequired = isRequired
        self.isSecret = isSecret
        self.unit = unit
        self.range = range
        self.choices = choices
    }
}

extension SettingDeclaration: Encodable {
    private enum CodingKeys: String, CodingKey {
        case name, key, kind, meaning, unit, minimum, maximum, choices
        case defaultText = "default"
        case developmentDefault
        case isRequired = "required"
        case isSecret = "secret"
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name.variable, forKey: .name)
        try container.encode(name.path, forKey: .key)
        try container.encode(kind, forKey: .kind)
        try container.encode(meaning, forKey: .meaning)
        try container.encodeIfPresent(unit, forKey: .unit)
        try container.encodeIfPresent(range?.lowerBound, forKey: .minimum)
        try container.encodeIfPresent(range.flatMap { $0.upperBound == .max ? nil : $0.upperBound }, forKey: .maximum)
        try container.encodeIfPresent(choices, forKey: .choices)
        try container.encodeIfPresent(defaultText, forKey: .defaultText)
        try container.encodeIfPresent(developmentDefault, forKey: .developmentDefault)
        try container.encode(isRequired, forKey: .isRequired)
        try container.encode(isSecret, forKey: .isSecret)
    }
}
