public import Combine

/// Where a value lies that outlives the view's struct.
@MainActor
final class Box<Value> {
    var value: Value

    init(_ value: Value) { self.value = value }
}

@MainActor
final class Slot<Value>: Sendable {
    private let make: () -> Value
    private var box: Box<Value>?

    init(_ make: @escaping () -> Value) { self.make = make }

    var current: Box<Value> {
        if let box { return box }
        let new = Box(make())
        box = new
        return new
    }

    func adopt(_ other: AnyObject) { box = other as? Box<Value> }
}

// SwiftUI, "State"
@MainActor
@propertyWrapper
public struct State<Value>: Stored {
    private let slot: Slot<Value>

    public init(wrappedValue value: Value) { slot = Slot { value } }

    public init(initialValue value: Value) { slot = Slot { value } }

    public var wrappedValue: Value {
        get { slot.current.value }
        nonmutating set { slot.current.value = newValue }
    }

    public var projectedValue: Binding<Value> {
        Binding(get: { slot.current.value }, set: { slot.current.value = $0 })
    }

    var box: AnyObject { slot.current }
    func adopt(_ box: AnyObject) { slot.adopt(box) }
}

extension State where Value: ExpressibleByNilLiteral {
    // SwiftUI, "init()"
    public init() { self.init(wrappedValue: nil) }
}

// SwiftUI, "StateObject"
@MainActor
@propertyWrapper
public struct StateObject<ObjectType: ObservableObject>: Stored {
    private let slot: Slot<ObjectType>

    public init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) { slot = Slot(thunk) }

    public var wrappedValue: ObjectType { slot.current.value }

    public var projectedValue: ObservedObject<ObjectType>.Wrapper { .init(root: slot.current.value) }

    var box: AnyObject { slot.current }
    func adopt(_ box: AnyObject) { slot.adopt(box) }
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
        let root: ObjectType

        public subscript<Subject>(
            dynamicMember keyPath: ReferenceWritableKeyPath<ObjectType, Subject>
        ) -> Binding<Subject> {
            Binding(get: { root[keyPath: keyPath] }, set: { root[keyPath: keyPath] = $0 })
        }
    }

    public var projectedValue: Wrapper { Wrapper(root: wrappedValue) }
}

// SwiftUI, "EnvironmentObject"
@MainActor
@propertyWrapper
public struct EnvironmentObject<ObjectType: ObservableObject>: Stored {
    private let slot: Slot<ObjectType?>

    public init() { slot = Slot { nil } }

    public var wrappedValue: ObjectType {
        guard let object = slot.current.value else {
            fatalError("No ObservableObject of type \(ObjectType.self) found.")
        }
        return object
    }

    /// Found when the view is looked at: its tasks and buttons use it later.
    private func find() {
        guard let object = ViewHost.current?.objects[ObjectIdentifier(ObjectType.self)] as? ObjectType else { return }
        slot.current.value = object
    }

    var box: AnyObject {
        find()
        return slot.current
    }

    func adopt(_ box: AnyObject) {
        slot.adopt(box)
        find()
    }
}

// SwiftUI, "Binding"
@MainActor
@propertyWrapper
public struct Binding<Value> {
    private let get: @MainActor () -> Value
    private let set: @MainActor (Value) -> Void

    // SwiftUI, "init(get:set:)"
    public init(get: @escaping @MainActor () -> Value, set: @escaping @MainActor (Value) -> Void) {
        self.get = get
        self.set = set
    }

    public var wrappedValue: Value {
        get { get() }
        nonmutating set { set(newValue) }
    }

    public var projectedValue: Binding<Value> { self }
}

// SwiftUI, "FocusState"
@MainActor
@propertyWrapper
public struct FocusState<Value: Hashable>: Stored {
    private let slot: Slot<Value>

    // SwiftUI, "init()"
    public init() where Value == Bool { slot = Slot { false } }

    public init<T: Hashable>() where Value == T? { slot = Slot { nil } }

    public var wrappedValue: Value {
        get { slot.current.value }
        nonmutating set { slot.current.value = newValue }
    }

    // SwiftUI, "FocusState.Binding"
    @MainActor
    public struct Binding {
        let get: () -> Value
        let set: (Value) -> Void
    }

    public var projectedValue: FocusState<Value>.Binding {
        Binding(get: { slot.current.value }, set: { slot.current.value = $0 })
    }

    var box: AnyObject { slot.current }
    func adopt(_ box: AnyObject) { slot.adopt(box) }
}
