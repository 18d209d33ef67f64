public import Foundation

// SwiftUI, "EnvironmentValues"
public struct EnvironmentValues: Sendable {
    // SwiftUI, "locale", "colorScheme", "layoutDirection", "scenePhase"
    public var locale = Locale(identifier: "en")
    public var colorScheme = ColorScheme.light
    public var layoutDirection = LayoutDirection.leftToRight
    public var scenePhase = ScenePhase.active

    public init() {}
}

// SwiftUI, "Environment"
@MainActor
@propertyWrapper
public struct Environment<Value> {
    private let keyPath: KeyPath<EnvironmentValues, Value>

    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { self.keyPath = keyPath }

    public var wrappedValue: Value { (ViewHost.current?.environment ?? EnvironmentValues())[keyPath: keyPath] }
}

// SwiftUI, "ColorScheme"
public enum ColorScheme: Sendable {
    case light, dark
}

// SwiftUI, "LayoutDirection"
public enum LayoutDirection: Sendable {
    case leftToRight, rightToLeft
}

// SwiftUI, "ScenePhase"
public enum ScenePhase: Sendable {
    case background, inactive, active
}
