// SwiftUI, "Text"
public struct Text: View, Element, Sendable {
    private let content: String

    // SwiftUI, "init(verbatim:)"
    public init(verbatim content: String) { self.content = content }

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] { [ViewNode("text", text: content)] }
}

// SwiftUI, "Image"
public struct Image: View, Element, Sendable {
    private let name: String

    // SwiftUI, "init(systemName:)"
    public init(systemName: String) { name = systemName }

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] { [ViewNode("image")] }
}

// SwiftUI, "ProgressView"
public struct ProgressView: View, Element {
    public init() {}

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] { [ViewNode("progress")] }
}

// SwiftUI, "Divider"
public struct Divider: View, Element {
    public init() {}

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] { [] }
}

// SwiftUI, "ButtonRole"
public struct ButtonRole: Sendable, Equatable {
    let name: String

    public static let cancel = ButtonRole(name: "cancel")
    public static let destructive = ButtonRole(name: "destructive")
}

// SwiftUI, "Button"
public struct Button<Label: View>: View, Element {
    private let action: @MainActor () -> Void
    private let label: Label

    // SwiftUI, "init(action:label:)"
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {
        self.action = action
        self.label = label()
    }

    // SwiftUI, "init(role:action:label:)"
    public init(role: ButtonRole?, action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {
        self.init(action: action, label: label)
    }

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        let inner = host.nodes(of: label, at: path + "/label")
        let node = ViewNode("button", text: inner.flatMap(\.all).compactMap(\.text).first)
        node.tap = action
        // What stands on a button is read as the button.
        node.children = inner.filter { $0.kind != "text" }
        return [node]
    }
}

extension Button where Label == Text {
    // SwiftUI, "init(_:action:)"
    @_disfavoredOverload
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {
        self.init(action: action) { Text(verbatim: String(title)) }
    }

    // SwiftUI, "init(_:role:action:)"
    @_disfavoredOverload
    public init<S: StringProtocol>(_ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void) {
        self.init(title, action: action)
    }
}

// SwiftUI, "TextField"
public struct TextField<Label: View>: View, Element {
    private let title: String
    private let text: Binding<String>

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] { [field("textField", title, text)] }
}

extension TextField where Label == Text {
    // SwiftUI, "init(_:text:)"
    public init<S: StringProtocol>(_ title: S, text: Binding<String>) {
        self.title = String(title)
        self.text = text
    }
}

// SwiftUI, "SecureField"
public struct SecureField<Label: View>: View, Element {
    private let title: String
    private let text: Binding<String>

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] { [field("secureField", title, text)] }
}

extension SecureField where Label == Text {
    // SwiftUI, "init(_:text:)"
    public init<S: StringProtocol>(_ title: S, text: Binding<String>) {
        self.title = String(title)
        self.text = text
    }
}

@MainActor
private func field(_ kind: String, _ title: String, _ text: Binding<String>) -> ViewNode {
    let node = ViewNode(kind, text: text.wrappedValue)
    node.label = title
    node.type = { text.wrappedValue = $0 }
    return node
}
