@testable import GatehouseObservability

extension FinishedSpan {
    static func example(_ number: Int = 1, parent: String? = nil, attributes: [Attribute] = []) -> FinishedSpan {
        FinishedSpan(
            traceID: "0af7651916cd43dd8448eb211c80319c", spanID: "b7ad6b7169203331", parentSpanID: parent,
            name: "span \(number)", kind: .server, time: SpanTime(start: 1, end: 2), attributes: attributes,
            isError: false)
    }
}
