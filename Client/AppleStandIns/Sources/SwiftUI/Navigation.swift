// SwiftUI, "TabView": what is under all tabs can be seen at once.
public struct TabView<SelectionValue: Hashable, Content: View>: View, Element {
    private let content: Content

    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: () -> Content) where SelectionValue == Int { self.content = content() }

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        [ViewNode("tabs", children: host.nodes(of: content, at: path + "/tabs"))]
    }
}

// SwiftUI, "NavigationPath"
public struct NavigationPath {
    public init() {}
}

// SwiftUI, "NavigationStack"
public struct NavigationStack<Data, Root: View>: View {
    public let body: Root

    // SwiftUI, "init(root:)"
    public init(@ViewBuilder root: () -> Root) where Data == NavigationPath { body = root() }
}

// SwiftUI, "Visibility"
public enum Visibility: Sendable {
    case automatic, visible, hidden
}

extension View {
    // SwiftUI, "tabItem(_:)"
    public func tabItem<V: View>(@ViewBuilder _ label: () -> V) -> some View {
        let label = label()
        return Changed(content: self) { host, path, nodes in
            nodes + [ViewNode("tab", children: host.nodes(of: label, at: path + "/tab"))]
        }
    }

    // SwiftUI, "navigationTitle(_:)"
    public func navigationTitle(_ titleKey: LocalizedStringKey) -> some View {
        Changed(content: self) { _, _, nodes in nodes + [ViewNode("title", text: titleKey.key)] }
    }

    // SwiftUI, "confirmationDialog(_:isPresented:titleVisibility:actions:)"
    public func confirmationDialog<A: View>(
        _ titleKey: LocalizedStringKey, isPresented: Binding<Bool>, titleVisibility: Visibility = .automatic,
        @ViewBuilder actions: () -> A
    ) -> some View {
        let actions = actions()
        return Changed(content: self) { host, path, nodes in
            guard isPresented.wrappedValue else { return nodes }
            let parts = host.nodes(of: actions, at: path + "/actions")
            return nodes + [ViewNode("dialog", text: titleKey.key, children: parts)]
        }
    }
}
