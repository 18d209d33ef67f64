public import Foundation

// SwiftUI, "LocalizedStringKey"
public struct LocalizedStringKey: Equatable, ExpressibleByStringInterpolation, Sendable {
    // SwiftUI, "init(_:)", "init(stringLiteral:)"
    public init(_ value: String) {}

    public init(stringLiteral value: String) {}
}

// SwiftUI, "Text"
public struct Text: View, Sendable {
    public typealias Body = Never

    // SwiftUI, "init(verbatim:)"
    public init(verbatim content: String) {}

    // SwiftUI, "init(_:)"
    @_disfavoredOverload
    public init<S: StringProtocol>(_ content: S) {}

    // SwiftUI, "init(_:tableName:bundle:comment:)"
    public init(
        _ key: LocalizedStringKey, tableName: String? = nil, bundle: Bundle? = nil, comment: StaticString? = nil
    ) {}
}

// SwiftUI, "Image"
public struct Image: View, Sendable {
    public typealias Body = Never

    // SwiftUI, "init(systemName:)"
    public init(systemName: String) {}

    // SwiftUI, "init(_:bundle:)"
    public init(_ name: String, bundle: Bundle? = nil) {}

    // SwiftUI, "resizable(capInsets:resizingMode:)"
    public func resizable() -> Image { self }
}

// SwiftUI, "Label"
public struct Label<Title: View, Icon: View>: View {
    public typealias Body = Never
}

extension Label where Title == Text, Icon == Image {
    // SwiftUI, "init(_:systemImage:)"
    public init(_ titleKey: LocalizedStringKey, systemImage name: String) {}
}

// SwiftUI, "ProgressView"
public struct ProgressView: View {
    public typealias Body = Never

    public init() {}
}

// SwiftUI, "ButtonRole"
public struct ButtonRole: Sendable, Equatable {
    public static let cancel = ButtonRole()
    public static let destructive = ButtonRole()
}

// SwiftUI, "Button"
public struct Button<Label: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(action:label:)"
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {}
}

extension Button where Label == Text {
    // SwiftUI, "init(_:action:)"
    public init(_ titleKey: LocalizedStringKey, action: @escaping @MainActor () -> Void) {}

    @_disfavoredOverload
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {}

    // SwiftUI, "init(_:role:action:)"
    public init(_ titleKey: LocalizedStringKey, role: ButtonRole?, action: @escaping @MainActor () -> Void) {}

    @_disfavoredOverload
    public init<S: StringProtocol>(_ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void) {}
}

// SwiftUI, "Toggle"
public struct Toggle<Label: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(isOn:label:)"
    public init(isOn: Binding<Bool>, @ViewBuilder label: () -> Label) {}
}

extension Toggle where Label == Text {
    // SwiftUI, "init(_:isOn:)"
    public init(_ titleKey: LocalizedStringKey, isOn: Binding<Bool>) {}
}

// SwiftUI, "TextField"
public struct TextField<Label: View>: View {
    public typealias Body = Never
}

extension TextField where Label == Text {
    // SwiftUI, "init(_:text:)"
    public init<S: StringProtocol>(_ title: S, text: Binding<String>) {}
}

// SwiftUI, "SecureField"
public struct SecureField<Label: View>: View {
    public typealias Body = Never
}

extension SecureField where Label == Text {
    // SwiftUI, "init(_:text:)"
    public init<S: StringProtocol>(_ title: S, text: Binding<String>) {}
}
