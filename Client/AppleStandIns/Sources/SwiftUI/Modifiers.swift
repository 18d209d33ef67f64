public import Combine
public import Foundation
public import UIKit

/// A view, and what a modifier changes of what can be seen and touched of it.
struct Changed<Content: View>: View, Element {
    let content: Content
    /// Where state is kept: another name, another state.
    var name = ""
    let change: @MainActor (ViewHost, String, [ViewNode]) -> [ViewNode]

    var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        change(host, path, host.nodes(of: content, at: path + name))
    }
}

extension View {
    /// For stand-ins of other modules: changes what stands on the top of a view.
    public func changed(_ change: @escaping @MainActor (ViewNode) -> Void) -> some View {
        Changed(content: self) { _, _, nodes in
            for node in nodes { change(node) }
            return nodes
        }
    }

    // MARK: - Looks: nothing of it is simulated

    // SwiftUI, "padding(_:_:)"
    public func padding(_ edges: Edge.Set = .all, _ length: CGFloat? = nil) -> some View { self }

    // SwiftUI, "frame(minWidth:idealWidth:maxWidth:minHeight:idealHeight:maxHeight:alignment:)"
    public func frame(
        minWidth: CGFloat? = nil, idealWidth: CGFloat? = nil, maxWidth: CGFloat? = nil, minHeight: CGFloat? = nil,
        idealHeight: CGFloat? = nil, maxHeight: CGFloat? = nil, alignment: Alignment = .center
    ) -> some View { self }

    // SwiftUI, "font(_:)"
    public func font(_ font: Font?) -> some View { self }

    // SwiftUI, "foregroundStyle(_:)"
    public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { self }

    // SwiftUI, "multilineTextAlignment(_:)"
    public func multilineTextAlignment(_ alignment: TextAlignment) -> some View { self }

    // SwiftUI, "controlSize(_:)"
    public func controlSize(_ controlSize: ControlSize) -> some View { self }

    // SwiftUI, "buttonStyle(_:)"
    public func buttonStyle<S: PrimitiveButtonStyle>(_ style: S) -> some View { self }

    // SwiftUI, "textFieldStyle(_:)"
    public func textFieldStyle<S: TextFieldStyle>(_ style: S) -> some View { self }

    // SwiftUI, "textContentType(_:)"
    public func textContentType(_ textContentType: UITextContentType?) -> some View { self }

    // SwiftUI, "keyboardType(_:)"
    public func keyboardType(_ type: UIKeyboardType) -> some View { self }

    // SwiftUI, "textInputAutocapitalization(_:)"
    public func textInputAutocapitalization(_ autocapitalization: TextInputAutocapitalization?) -> some View { self }

    // SwiftUI, "autocorrectionDisabled(_:)"
    public func autocorrectionDisabled(_ disable: Bool = true) -> some View { self }

    // SwiftUI, "submitLabel(_:)"
    public func submitLabel(_ submitLabel: SubmitLabel) -> some View { self }

    // SwiftUI, "accessibilityAddTraits(_:)"
    public func accessibilityAddTraits(_ traits: AccessibilityTraits) -> some View { self }

    // MARK: - What can be seen and touched

    // SwiftUI, "disabled(_:)"
    public func disabled(_ disabled: Bool) -> some View {
        changed { node in for node in node.all where disabled { node.isDisabled = true } }
    }

    // SwiftUI, "accessibilityLabel(_:)"
    public func accessibilityLabel(_ label: Text) -> some View {
        Changed(content: self) { host, path, nodes in
            let text = host.nodes(of: label, at: path).first?.text
            for node in nodes { node.label = text }
            return nodes
        }
    }

    // SwiftUI, "accessibilityHint(_:)"
    public func accessibilityHint(_ hint: Text) -> some View {
        Changed(content: self) { host, path, nodes in
            let text = host.nodes(of: hint, at: path).first?.text
            for node in nodes { node.hint = text }
            return nodes
        }
    }

    // SwiftUI, "accessibilityIdentifier(_:)"
    public func accessibilityIdentifier(_ identifier: String) -> some View { changed { $0.identifier = identifier } }

    // SwiftUI, "accessibilityHidden(_:)"
    public func accessibilityHidden(_ hidden: Bool) -> some View {
        changed { node in for node in node.all { node.isHidden = hidden } }
    }

    // SwiftUI, "onSubmit(of:_:)"
    public func onSubmit(_ action: @escaping @MainActor () -> Void) -> some View { changed { $0.submit = action } }

    // SwiftUI, "focused(_:equals:)"
    public func focused<Value: Hashable>(_ binding: FocusState<Value>.Binding, equals value: Value) -> some View {
        changed { $0.isFocused = binding.get() == value }
    }

    // SwiftUI, "id(_:)"
    public func id<ID: Hashable>(_ id: ID) -> some View {
        Changed(content: self, name: "[\(id)]") { _, _, nodes in nodes }
    }

    // SwiftUI, "task(priority:_:)"
    public func task(
        priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: @escaping @Sendable @isolated(any) () async -> Void
    ) -> some View { task(id: 0, priority: priority, action) }

    // SwiftUI, "task(id:priority:_:)"
    public func task<T: Equatable>(
        id value: T, priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: @escaping @Sendable @isolated(any) () async -> Void
    ) -> some View {
        Changed(content: self) { _, path, nodes in
            let node = nodes.first ?? ViewNode("group")
            node.tasks.append(("\(path)#\(value)", action))
            return nodes.isEmpty ? [node] : nodes
        }
    }

    // SwiftUI, "alert(_:isPresented:actions:message:)"
    public func alert<S: StringProtocol, A: View, M: View>(
        _ title: S, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A, @ViewBuilder message: () -> M
    ) -> some View {
        let (actions, message) = (actions(), message())
        return Changed(content: self) { host, path, nodes in
            guard isPresented.wrappedValue else { return nodes }
            let parts = host.nodes(of: message, at: path + "/message") + host.nodes(of: actions, at: path + "/actions")
            return nodes + [ViewNode("alert", text: String(title), children: parts)]
        }
    }

    // SwiftUI, "environment(_:_:)"
    public func environment<V>(_ keyPath: WritableKeyPath<EnvironmentValues, V>, _ value: V) -> some View {
        EnvironmentChanged(content: self) { $0.environment[keyPath: keyPath] = value }
    }

    // SwiftUI, "environmentObject(_:)"
    public func environmentObject<T: ObservableObject>(_ object: T) -> some View {
        EnvironmentChanged(content: self) { $0.objects[ObjectIdentifier(T.self)] = object }
    }
}

/// A view in another environment.
struct EnvironmentChanged<Content: View>: View, Element {
    let content: Content
    let change: @MainActor (ViewHost) -> Void

    var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        let (environment, objects) = (host.environment, host.objects)
        change(host)
        defer { (host.environment, host.objects) = (environment, objects) }
        return host.nodes(of: content, at: path)
    }
}

// SwiftUI, "TextInputAutocapitalization"
public struct TextInputAutocapitalization: Sendable {
    public static var never: TextInputAutocapitalization { TextInputAutocapitalization() }
}
