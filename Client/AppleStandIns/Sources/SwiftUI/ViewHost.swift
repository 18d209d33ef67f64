/// For tests: what can be seen and touched of a view.
@MainActor
public final class ViewNode {
    public let kind: String
    public var text: String?
    public var identifier: String?
    public var label: String?
    public var hint: String?
    public var style: String?
    public var isDisabled = false
    public var isHidden = false
    public var isFocused = false
    public var children: [ViewNode]
    public var tap: (() -> Void)?
    public var type: ((String) -> Void)?
    public var submit: (() -> Void)?
    var tasks: [(id: String, run: @Sendable @isolated(any) () async -> Void)] = []

    init(_ kind: String, text: String? = nil, children: [ViewNode] = []) {
        self.kind = kind
        self.text = text
        self.children = children
    }

    /// This one and all within.
    public var all: [ViewNode] { [self] + children.flatMap(\.all) }
}

/// A view that has no body.
@MainActor
protocol Element {
    func nodes(in host: ViewHost, at path: String) -> [ViewNode]
}

/// What keeps a value between two looks at a view: `@State` and its like.
@MainActor
protocol Stored {
    var box: AnyObject { get }
    func adopt(_ box: AnyObject)
}

/// For tests: shows a view, keeps its state by the place where it stands, and runs its tasks.
@MainActor
public final class ViewHost {
    private let root: any View
    private var boxes: [String: AnyObject] = [:]
    private var seen: Set<String> = []
    private var running: [String: Task<Void, Never>] = [:]
    public var environment = EnvironmentValues()
    var objects: [ObjectIdentifier: AnyObject] = [:]

    static var current: ViewHost?

    public init(_ root: some View) { self.root = root }

    /// Everything that is on the screen now. Tasks of what is new begin, those of what has gone are cancelled.
    @discardableResult
    public func look() -> [ViewNode] {
        let outer = Self.current
        Self.current = self
        defer { Self.current = outer }
        seen = []
        let all = nodes(of: root, at: "").flatMap(\.all)
        boxes = boxes.filter { seen.contains($0.key) }
        let tasks = Dictionary(all.flatMap(\.tasks).map { ($0.id, $0.run) }) { first, _ in first }
        for (id, task) in running where tasks[id] == nil {
            task.cancel()
            running[id] = nil
        }
        for (id, run) in tasks where running[id] == nil { running[id] = Task { await run() } }
        return all
    }

    /// The view has gone.
    public func close() {
        for task in running.values { task.cancel() }
        running = [:]
    }

    public func find(_ identifier: String) -> ViewNode? { look().first { $0.identifier == identifier } }

    public var texts: [String] { look().compactMap { $0.isHidden ? nil : $0.text } }

    func nodes(of view: any View, at path: String) -> [ViewNode] {
        if let element = view as? any Element { return element.nodes(in: self, at: path) }
        return body(of: view, at: path)
    }

    private func body<Content: View>(of view: Content, at path: String) -> [ViewNode] {
        let path = "\(path)/\(Content.self)"
        for child in Mirror(reflecting: view).children {
            guard let stored = child.value as? any Stored else { continue }
            let key = "\(path).\(child.label ?? "")"
            seen.insert(key)
            if let box = boxes[key] { stored.adopt(box) } else { boxes[key] = stored.box }
        }
        return nodes(of: view.body, at: path)
    }
}
