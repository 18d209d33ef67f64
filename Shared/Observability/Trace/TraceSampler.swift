/// Decides which traces are recorded: by what the caller decided, if it may, and else a share of them (OpenTelemetry's
/// `ParentBased` over `TraceIdRatioBased`).
public struct TraceSampler: Sendable, Equatable {
    /// Of 2⁶³.
    private let threshold: UInt64

    /// - Parameter percent: of the traces that are decided about here, 0 to 100.
    public init(percent: Double) {
        threshold = UInt64(min(max(percent, 0), 100) / 100 * 0x1p63)
    }

    /// - Parameters:
    ///   - parent: whether the caller records the trace; `nil` where the trace begins here.
    ///   - isTrusted: whether the caller may decide.
    ///   - random: uniform over all values. Of a trace that begins here its identifier would do; a stranger's
    ///     identifier would not, since it can be one that is always recorded.
    public func samples(parent: Bool?, isTrusted: Bool, random: UInt64) -> Bool {
        if isTrusted, let parent { return parent }
        return random >> 1 < threshold
    }
}
