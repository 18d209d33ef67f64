// SwiftUI, "List"
public struct List<SelectionValue: Hashable, Content: View>: View, Element {
    private let content: Content

    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: () -> Content) where SelectionValue == Never { self.content = content() }

    public var body: Never { fatalError("has no body") }

    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        [ViewNode("list", children: host.nodes(of: content, at: path + "/list"))]
    }
}

// SwiftUI, "Section"
public struct Section<Parent, Content, Footer> {
    private let content: Content
}

extension Section: View where Parent: View, Content: View, Footer: View {
    public var body: some View { content }
}

extension Section where Parent == EmptyView, Content: View, Footer == EmptyView {
    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: () -> Content) { self.content = content() }
}

// SwiftUI, "ForEach"
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content> {
    // SwiftUI, "data", "content"
    public var data: Data
    public var content: (Data.Element) -> Content
    private let id: KeyPath<Data.Element, ID>
}

extension ForEach where Content: View {
    // SwiftUI, "init(_:id:content:)"
    public init(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {
        self.data = data
        self.id = id
        self.content = content
    }
}

extension ForEach where Data.Element: Identifiable, ID == Data.Element.ID, Content: View {
    // SwiftUI, "init(_:content:)"
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {
        self.init(data, id: \.id, content: content)
    }
}

extension ForEach: View where Content: View {
    public var body: Never { fatalError("has no body") }
}

extension ForEach: Element where Content: View {
    func nodes(in host: ViewHost, at path: String) -> [ViewNode] {
        data.flatMap { host.nodes(of: content($0), at: "\(path)[\($0[keyPath: id])]") }
    }
}

// SwiftUI, "HorizontalEdge"
public enum HorizontalEdge: Sendable {
    case leading, trailing
}

extension View {
    // SwiftUI, "swipeActions(edge:allowsFullSwipe:content:)"
    public func swipeActions<T: View>(
        edge: HorizontalEdge = .trailing, allowsFullSwipe: Bool = true, @ViewBuilder content: () -> T
    ) -> some View {
        let actions = content()
        return Changed(content: self) { host, path, nodes in
            nodes.last?.children += host.nodes(of: actions, at: path + "/swipe")
            return nodes
        }
    }

    // SwiftUI, "refreshable(action:)": nobody pulls.
    public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { self }
}
