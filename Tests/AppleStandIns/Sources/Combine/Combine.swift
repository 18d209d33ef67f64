// Combine, "ObservableObject"
public protocol ObservableObject: AnyObject {}

// Combine, "Published"
@propertyWrapper
public struct Published<Value> {
    private var value: Value

    // Combine, "init(wrappedValue:)"
    public init(wrappedValue: Value) { value = wrappedValue }

    // Like Combine's, it works only for properties of classes.
    @available(*, unavailable, message: "@Published is only available on properties of classes")
    public var wrappedValue: Value {
        get { fatalError() }
        set { fatalError() }
    }

    public static subscript<Object: ObservableObject>(
        _enclosingInstance object: Object, wrapped wrappedKeyPath: ReferenceWritableKeyPath<Object, Value>,
        storage storageKeyPath: ReferenceWritableKeyPath<Object, Published<Value>>
    ) -> Value {
        get { object[keyPath: storageKeyPath].value }
        set { object[keyPath: storageKeyPath].value = newValue }
    }
}
