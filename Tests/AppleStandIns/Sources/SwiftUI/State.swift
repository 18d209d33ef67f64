public import Combine
public import Foundation
public import Observation

// SwiftUI, "State"
@MainActor
@propertyWrapper
public struct State<Value> {
    public init(wrappedValue value: Value) {}

    public var wrappedValue: Value {
        get { notDrawn() }
        nonmutating set {}
    }

    public var projectedValue: Binding<Value> { notDrawn() }
}

extension State where Value: ExpressibleByNilLiteral {
    // SwiftUI, "init()"
    public init() { self.init(wrappedValue: nil) }
}

// SwiftUI, "StateObject"
@MainActor
@propertyWrapper
public struct StateObject<ObjectType: ObservableObject> {
    public init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) {}

    public var wrappedValue: ObjectType { notDrawn() }

    public var projectedValue: ObservedObject<ObjectType>.Wrapper { .init() }
}

// SwiftUI, "ObservedObject"
@MainActor
@propertyWrapper
public struct ObservedObject<ObjectType: ObservableObject> {
    public var wrappedValue: ObjectType

    public init(wrappedValue: ObjectType) { self.wrappedValue = wrappedValue }

    // SwiftUI, "ObservedObject.Wrapper"
    @MainActor
    @dynamicMemberLookup
    public struct Wrapper {
        public subscript<Subject>(
            dynamicMember keyPath: ReferenceWritableKeyPath<ObjectType, Subject>
        ) -> Binding<Subject> { notDrawn() }
    }

    public var projectedValue: Wrapper { Wrapper() }
}

// SwiftUI, "EnvironmentObject"
@MainActor
@propertyWrapper
public struct EnvironmentObject<ObjectType: ObservableObject> {
    public init() {}

    public var wrappedValue: ObjectType { notDrawn() }
}

// SwiftUI, "Binding"
@propertyWrapper
@dynamicMemberLookup
public struct Binding<Value> {
    @preconcurrency
    public init(
        @_inheritActorContext get: @escaping @isolated(any) @Sendable () -> Value,
        @_inheritActorContext set: @escaping @isolated(any) @Sendable (Value) -> Void
    ) {}

    public var wrappedValue: Value {
        get { notDrawn() }
        nonmutating set {}
    }

    public var projectedValue: Binding<Value> { self }

    // SwiftUI, "subscript(dynamicMember:)"
    public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        notDrawn()
    }
}

// The type has no stored property.
extension Binding: Sendable where Value: Sendable {}

// SwiftUI, "FocusState"
@MainActor
@propertyWrapper
public struct FocusState<Value: Hashable> {
    // SwiftUI, "init()"
    public init() where Value == Bool {}

    public init<T: Hashable>() where Value == T? {}

    public var wrappedValue: Value {
        get { notDrawn() }
        nonmutating set {}
    }

    // SwiftUI, "FocusState.Binding"
    @MainActor
    public struct Binding {}

    public var projectedValue: FocusState<Value>.Binding { Binding() }
}

// SwiftUI, "EnvironmentKey"
public protocol EnvironmentKey {
    associatedtype Value
    static var defaultValue: Self.Value { get }
}

// SwiftUI, "EnvironmentValues"
public struct EnvironmentValues {
    private var values: [ObjectIdentifier: Any] = [:]

    // SwiftUI, "init()"
    public init() {}

    // SwiftUI, "subscript(_:)"
    public subscript<K: EnvironmentKey>(key: K.Type) -> K.Value {
        get { values[ObjectIdentifier(key)] as? K.Value ?? key.defaultValue }
        set { values[ObjectIdentifier(key)] = newValue }
    }

    // SwiftUI, "locale", "colorScheme", "layoutDirection", "scenePhase", "font", "dynamicTypeSize"
    public var locale = Locale(identifier: "en")
    public var colorScheme = ColorScheme.light
    public var layoutDirection = LayoutDirection.leftToRight
    public var scenePhase = ScenePhase.active
    public var font: Font?
    public var dynamicTypeSize = DynamicTypeSize.large

    // SwiftUI, "dismiss"
    public var dismiss: DismissAction { DismissAction() }
}

// The type of `environment(_:_:)`.
struct _EnvironmentView<Content: View, V>: View {
    typealias Body = Never

    let content: Content
    let keyPath: WritableKeyPath<EnvironmentValues, V>
    let value: V
}

@MainActor
private protocol SettingEnvironment {
    func set(_ values: inout EnvironmentValues)
}

extension _EnvironmentView: SettingEnvironment {
    func set(_ values: inout EnvironmentValues) {
        values[keyPath: keyPath] = value
        // The inner modifier counts.
        (content as? any SettingEnvironment)?.set(&values)
    }
}

extension EnvironmentValues {
    /// For tests: what the modifiers `environment(_:_:)` of a view set.
    @MainActor
    public init(simulated view: any View) {
        self.init()
        (view as? any SettingEnvironment)?.set(&self)
    }
}

// SwiftUI, "Environment"
@MainActor
@propertyWrapper
public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) {}

    // SwiftUI, "init(_:)"
    public init(_ objectType: Value.Type) where Value: AnyObject & Observable {}

    public var wrappedValue: Value { notDrawn() }
}

// SwiftUI, "DismissAction"
@MainActor
public struct DismissAction {
    nonisolated init() {}

    public func callAsFunction() {}
}

// SwiftUI, "ColorScheme"
public enum ColorScheme: Sendable {
    case light, dark
}

// SwiftUI, "LayoutDirection"
public enum LayoutDirection: Sendable {
    case leftToRight, rightToLeft
}

// SwiftUI, "DynamicTypeSize"
public enum DynamicTypeSize: Hashable, Sendable {
    case xSmall, small, medium, large, xLarge, xxLarge, xxxLarge
    case accessibility1, accessibility2, accessibility3, accessibility4, accessibility5
}

// SwiftUI, "ScenePhase"
public enum ScenePhase: Sendable {
    case background, inactive, active
}
