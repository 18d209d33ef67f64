/// What a collector made of a batch of spans.
public enum SpanExportOutcome: Sendable, Equatable {
    /// It has them, but for those that it says it cannot use (`partialSuccess`).
    case taken(rejected: Int)
    /// It cannot take them now.
    ///
    /// - Parameter retryAfter: when it wants to be asked again, if it says so.
    case busy(retryAfter: Duration?)
    /// It could not be asked, or did not answer in time.
    case unreachable
    /// It does not want them: another attempt would end in the same way.
    case refused
}
