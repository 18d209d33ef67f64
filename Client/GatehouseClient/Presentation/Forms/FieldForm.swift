/// A form of text fields with one button, such as for signing up or for a new password.
package struct FieldForm: TaskForm {
    package enum Field: String, Sendable, Hashable, CaseIterable {
        /// An e-mail address or a phone number.
        case identifier
        /// A password that exists.
        case password
        case newPassword
    }

    package enum Fault: Sendable, Equatable {
        case missing
        case tooShort
    }

    /// The entered values. They are never printed.
    package struct Entry: Sendable, Equatable {
        fileprivate var values = Redacted<[Field: String]>([:])

        package init() {}

        package subscript(field: Field) -> String {
            get { values.value[field] ?? "" }
            set { values = Redacted(values.value.merging([field: newValue]) { _, new in new }) }
        }
    }

    /// In the order on the screen.
    package let fields: [Field]
    /// In Unicode scalars, as the server counts characters.
    package let minimumPasswordLength: Int
    package var entry = Entry()
    package var task = FormTask<Entry>.idle
    private var showsFaults = false

    package init(_ fields: [Field], minimumPasswordLength: Int = 8) {
        self.fields = fields
        self.minimumPasswordLength = minimumPasswordLength
    }

    /// The current fault of a field, after the user has tried to submit the form.
    package func fault(of field: Field) -> Fault? { showsFaults ? currentFault(of: field) : nil }

    /// Returns the entered values, with the identifier trimmed. `nil` if a field is invalid.
    package mutating func submit() -> Entry? {
        showsFaults = fields.contains { currentFault(of: $0) != nil }
        guard !showsFaults else { return nil }
        var entry = entry
        if fields.contains(.identifier) { entry[.identifier] = entry[.identifier].trimmed }
        return entry
    }

    /// Removes the passwords, which are not needed any more.
    package mutating func succeeded(_ action: Entry, with output: Void) {
        for field in fields where field != .identifier { entry[field] = "" }
    }

    private func currentFault(of field: Field) -> Fault? {
        let value = field == .identifier ? entry[field].trimmed : entry[field]
        if value.isEmpty { return .missing }
        return field == .newPassword && value.unicodeScalars.count < minimumPasswordLength ? .tooShort : nil
    }
}
