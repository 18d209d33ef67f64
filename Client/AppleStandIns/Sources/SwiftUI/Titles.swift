public import Foundation

// SwiftUI, "LocalizedStringKey": nothing is looked up.
public struct LocalizedStringKey: Equatable, ExpressibleByStringInterpolation, Sendable {
    let key: String

    // SwiftUI, "init(_:)", "init(stringLiteral:)"
    public init(_ value: String) { key = value }

    public init(stringLiteral value: String) { key = value }
}

extension Text {
    // SwiftUI, "init(_:tableName:bundle:comment:)"
    public init(
        _ key: LocalizedStringKey, tableName: String? = nil, bundle: Bundle? = nil, comment: StaticString? = nil
    ) { self.init(verbatim: key.key) }
}

extension Button where Label == Text {
    // SwiftUI, "init(_:action:)"
    public init(_ titleKey: LocalizedStringKey, action: @escaping @MainActor () -> Void) {
        self.init(action: action) { Text(titleKey) }
    }

    // SwiftUI, "init(_:role:action:)"
    public init(_ titleKey: LocalizedStringKey, role: ButtonRole?, action: @escaping @MainActor () -> Void) {
        self.init(role: role, action: action) { Text(titleKey) }
    }
}

// SwiftUI, "Label"
public struct Label<Title: View, Icon: View>: View {
    private let title: Title
    private let icon: Icon

    // SwiftUI, "init(title:icon:)"
    public init(@ViewBuilder title: () -> Title, @ViewBuilder icon: () -> Icon) {
        self.title = title()
        self.icon = icon()
    }

    public var body: some View {
        icon
        title
    }
}

extension Label where Title == Text, Icon == Image {
    // SwiftUI, "init(_:systemImage:)"
    public init(_ titleKey: LocalizedStringKey, systemImage name: String) {
        self.init {
            Text(titleKey)
        } icon: {
            Image(systemName: name)
        }
    }
}
