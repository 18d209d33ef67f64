#if canImport(UIKit)
    public import UIKit

    // SwiftUI, "UIViewRepresentable"
    @MainActor
    @preconcurrency
    public protocol UIViewRepresentable: View where Self.Body == Never {
        associatedtype UIViewType: UIView
        associatedtype Coordinator = Void
        typealias Context = UIViewRepresentableContext<Self>

        // SwiftUI, "makeUIView(context:)"
        @MainActor func makeUIView(context: Self.Context) -> Self.UIViewType
        // SwiftUI, "updateUIView(_:context:)"
        @MainActor func updateUIView(_ uiView: Self.UIViewType, context: Self.Context)
        // SwiftUI, "dismantleUIView(_:coordinator:)"
        @MainActor static func dismantleUIView(_ uiView: Self.UIViewType, coordinator: Self.Coordinator)
        // SwiftUI, "makeCoordinator()"
        @MainActor func makeCoordinator() -> Self.Coordinator
    }

    extension UIViewRepresentable {
        public static func dismantleUIView(_ uiView: Self.UIViewType, coordinator: Self.Coordinator) {}
    }

    extension UIViewRepresentable where Coordinator == Void {
        public func makeCoordinator() {}
    }

    // SwiftUI, "UIViewRepresentableContext"
    @MainActor
    @preconcurrency
    public struct UIViewRepresentableContext<Representable: UIViewRepresentable> {
        // SwiftUI, "coordinator", "environment"
        public let coordinator: Representable.Coordinator
        public var environment: EnvironmentValues { EnvironmentValues() }
    }

    // SwiftUI, "UIHostingController"
    @MainActor
    @preconcurrency
    open class UIHostingController<Content: View>: UIViewController {
        // SwiftUI, "rootView"
        public var rootView: Content

        // SwiftUI, "init(rootView:)"
        public init(rootView: Content) { self.rootView = rootView }
    }
#endif
