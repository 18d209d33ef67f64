#if canImport(UIKit)
    public import Foundation
    public import UIKit
#endif

// Only declarations. The client's screens are compiled against them, and nothing is drawn.

// SwiftUI, "View"
@MainActor
@preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor var body: Self.Body { get }
}

extension View where Body == Never {
    public var body: Never { notDrawn() }
}

extension Never: View {
    public var body: Never { notDrawn() }
}

extension Never: Scene {}

extension Optional: View where Wrapped: View {
    public typealias Body = Never
}

func notDrawn() -> Never { fatalError("there is no screen here") }

// SwiftUI, "ViewBuilder"
@MainActor
@resultBuilder
public struct ViewBuilder {
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }

    public static func buildBlock() -> EmptyView { EmptyView() }

    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }

    public static func buildBlock<each Content: View>(
        _ content: repeat each Content
    ) -> TupleView<(repeat each Content)> { TupleView() }

    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }

    public static func buildEither<TrueContent: View, FalseContent: View>(
        first: TrueContent
    ) -> _ConditionalContent<TrueContent, FalseContent> { .init() }

    public static func buildEither<TrueContent: View, FalseContent: View>(
        second: FalseContent
    ) -> _ConditionalContent<TrueContent, FalseContent> { .init() }
}

// SwiftUI, "EmptyView"
public struct EmptyView: View {
    public typealias Body = Never

    public init() {}
}

// SwiftUI, "TupleView"
public struct TupleView<T>: View {
    public typealias Body = Never
}

// The type of `if` and `switch` in a view builder.
public struct _ConditionalContent<TrueContent: View, FalseContent: View>: View {
    public typealias Body = Never
}

// SwiftUI, "ViewModifier"
@MainActor
@preconcurrency
public protocol ViewModifier {
    associatedtype Body: View
    typealias Content = _ViewModifier_Content<Self>
    @ViewBuilder @MainActor func body(content: Self.Content) -> Self.Body
}

public struct _ViewModifier_Content<Modifier: ViewModifier>: View {
    public typealias Body = Never
}

extension View {
    // SwiftUI, "modifier(_:)"
    public func modifier<T: ViewModifier>(_ modifier: T) -> some View { self }
}

// SwiftUI, "PreviewProvider"
@MainActor
@preconcurrency
public protocol PreviewProvider: _PreviewProvider {
    associatedtype Previews: View
    @ViewBuilder @MainActor static var previews: Self.Previews { get }
}

public protocol _PreviewProvider {}

// MARK: - Apps

// SwiftUI, "App"
@MainActor
@preconcurrency
public protocol App {
    associatedtype Body: Scene
    @SceneBuilder @MainActor var body: Self.Body { get }
    @MainActor init()
}

extension App {
    // SwiftUI, "main()"
    public static func main() { notDrawn() }
}

// SwiftUI, "Scene"
@MainActor
@preconcurrency
public protocol Scene {
    associatedtype Body: Scene
    @SceneBuilder @MainActor var body: Self.Body { get }
}

// SwiftUI, "SceneBuilder"
@MainActor
@resultBuilder
public struct SceneBuilder {
    public static func buildExpression<Content: Scene>(_ content: Content) -> Content { content }

    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

// SwiftUI, "WindowGroup"
public struct WindowGroup<Content: View>: Scene {
    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: @escaping () -> Content) {}

    public var body: Never { notDrawn() }
}

#if canImport(UIKit)
    // SwiftUI, "UIApplicationDelegateAdaptor"
    @MainActor
    @preconcurrency
    @propertyWrapper
    public struct UIApplicationDelegateAdaptor<DelegateType: NSObject & UIApplicationDelegate> {
        // SwiftUI, "init(_:)"
        public init(_ delegateType: DelegateType.Type = DelegateType.self) {}

        public var wrappedValue: DelegateType { notDrawn() }
    }
#endif
