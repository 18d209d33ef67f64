/// What is wrong with a registration: every field, not only the first.
struct InvalidRegistration: Error, Equatable {
    /// A field that is wrong.
    struct Field: Sendable, Equatable {
        /// As in the request.
        let name: String
        /// What the field must be.
        let message: String
    }

    let fields: [Field]
}
