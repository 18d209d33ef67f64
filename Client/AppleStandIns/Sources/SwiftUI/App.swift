public import Foundation
public import UIKit

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
    public static func main() { fatalError("there is no screen here") }
}

// SwiftUI, "Scene"
@MainActor
@preconcurrency
public protocol Scene {
    associatedtype Body: Scene
    @SceneBuilder @MainActor var body: Self.Body { get }
}

extension Never: Scene {}

// SwiftUI, "SceneBuilder"
@MainActor
@resultBuilder
public struct SceneBuilder {
    public static func buildExpression<Content: Scene>(_ content: Content) -> Content { content }

    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

// SwiftUI, "WindowGroup"
public struct WindowGroup<Content: View>: Scene {
    private let content: () -> Content

    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: @escaping () -> Content) { self.content = content }

    public var body: Never { fatalError("has no body") }
}

// SwiftUI, "UIApplicationDelegateAdaptor"
@MainActor
@preconcurrency
@propertyWrapper
public struct UIApplicationDelegateAdaptor<DelegateType: NSObject & UIApplicationDelegate> {
    // SwiftUI, "init(_:)"
    public init(_ delegateType: DelegateType.Type = DelegateType.self) {}

    public var wrappedValue: DelegateType { fatalError("only the system makes it") }
}
