/// A service that `<service> doctor` can examine.
public protocol ExaminedApplication: ServiceApplication {
    /// Looks at everything that the service depends on. Changes nothing, and takes seconds at most.
    ///
    /// - Parameter configuration: of settings that are valid.
    static func examine(_ configuration: Configuration, _ examination: Examination) async -> [Finding]
}
