// SwiftUI, "View"
@MainActor
@preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor var body: Self.Body { get }
}

// SwiftUI, "View", default implementations: a view without parts
extension Never: View {
    public var body: Never { fatalError("has no body") }
}

// SwiftUI, "ViewBuilder"
@MainActor
@resultBuilder
public struct ViewBuilder {
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }

    public static func buildBlock() -> EmptyView { EmptyView() }

    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }

    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<
        (repeat each Content)
    > {
        var parts: [any View] = []
        repeat parts.append(each content)
        return TupleView((repeat each content), parts: parts)
    }

    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }

    public static func buildEither<TrueContent: View, FalseContent: View>(
        first: TrueContent
    ) -> _ConditionalContent<TrueContent, FalseContent> { .first(first) }

    public static func buildEither<TrueContent: View, FalseContent: View>(
        second: FalseContent
    ) -> _ConditionalContent<TrueContent, FalseContent> { .second(second) }
}

// SwiftUI, "EmptyView"
public struct EmptyView: View, Element {
    public init() {}

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] { [] }
}

// SwiftUI, "TupleView"
public struct TupleView<T>: View, Element {
    public let value: T
    private let parts: [any View]

    init(_ value: T, parts: [any View]) {
        self.value = value
        self.parts = parts
    }

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        parts.enumerated().flatMap { index, part in host.nodes(of: part, at: "\(path)/\(index)") }
    }
}

// What `if` and `switch` become.
public enum _ConditionalContent<TrueContent: View, FalseContent: View>: View, Element {
    case first(TrueContent)
    case second(FalseContent)

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        switch self {
        case .first(let view): host.nodes(of: view, at: path + "/if")
        case .second(let view): host.nodes(of: view, at: path + "/else")
        }
    }
}

extension Optional: View where Wrapped: View {
    public var body: Never { fatalError("has no body") }
}

extension Optional: Element where Wrapped: View {
    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        map { host.nodes(of: $0, at: path + "/some") } ?? []
    }
}

// SwiftUI, "Group"
public struct Group<Content: View>: View {
    public let body: Content

    public init(@ViewBuilder content: () -> Content) { body = content() }
}
