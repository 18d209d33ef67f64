public import Foundation

// SwiftUI, "Group"
public struct Group<Content: View>: View {
    public typealias Body = Never

    public init(@ViewBuilder content: () -> Content) {}
}

// SwiftUI, "VStack"
public struct VStack<Content: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(alignment:spacing:content:)"
    public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}

// SwiftUI, "ZStack"
public struct ZStack<Content: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(alignment:content:)"
    public init(alignment: Alignment = .center, @ViewBuilder content: () -> Content) {}
}

// SwiftUI, "AnyView"
public struct AnyView: View {
    public typealias Body = Never

    // SwiftUI, "init(_:)"
    public init<V: View>(_ view: V) {}
}

// SwiftUI, "ScrollView"
public struct ScrollView<Content: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(_:showsIndicators:content:)"
    public init(@ViewBuilder content: () -> Content) {}
}

// SwiftUI, "Form"
public struct Form<Content: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: () -> Content) {}
}

// SwiftUI, "ViewThatFits"
public struct ViewThatFits<Content: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(in:content:)"
    public init(in axes: Axis.Set = [.horizontal, .vertical], @ViewBuilder content: () -> Content) {}
}

// SwiftUI, "List"
public struct List<SelectionValue: Hashable, Content: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: () -> Content) where SelectionValue == Never {}
}

// SwiftUI, "Section"
public struct Section<Parent, Content, Footer> {}

extension Section: View where Parent: View, Content: View, Footer: View {
    public typealias Body = Never
}

extension Section where Parent == EmptyView, Content: View, Footer == EmptyView {
    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: () -> Content) {}
}

extension Section where Parent == Text, Content: View, Footer == EmptyView {
    // SwiftUI, "init(_:content:)"
    @_disfavoredOverload
    public init<S: StringProtocol>(_ title: S, @ViewBuilder content: () -> Content) {}
}

// SwiftUI, "ForEach"
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content> {}

extension ForEach where Content: View {
    // SwiftUI, "init(_:id:content:)"
    public init(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
}

extension ForEach where Data.Element: Identifiable, ID == Data.Element.ID, Content: View {
    // SwiftUI, "init(_:content:)"
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
}

extension ForEach: View where Content: View {
    public typealias Body = Never
}

// SwiftUI, "TabView"
public struct TabView<SelectionValue: Hashable, Content: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(content:)"
    public init(@ViewBuilder content: () -> Content) where SelectionValue == Int {}
}

// SwiftUI, "NavigationPath"
public struct NavigationPath {}

// SwiftUI, "NavigationStack"
public struct NavigationStack<Data, Root: View>: View {
    public typealias Body = Never

    // SwiftUI, "init(root:)"
    public init(@ViewBuilder root: () -> Root) where Data == NavigationPath {}
}

// SwiftUI, "ToolbarContent"
@MainActor
@preconcurrency
public protocol ToolbarContent {
    associatedtype Body: ToolbarContent
    @ToolbarContentBuilder @MainActor var body: Self.Body { get }
}

extension Never: ToolbarContent {}

// SwiftUI, "ToolbarContentBuilder"
@MainActor
@resultBuilder
public struct ToolbarContentBuilder {
    public static func buildBlock<Content: ToolbarContent>(_ content: Content) -> Content { content }
}

// SwiftUI, "ToolbarItemPlacement"
public struct ToolbarItemPlacement {
    public static var automatic: ToolbarItemPlacement { ToolbarItemPlacement() }
    public static var cancellationAction: ToolbarItemPlacement { ToolbarItemPlacement() }
}

// SwiftUI, "ToolbarItem"
public struct ToolbarItem<ID, Content: View>: ToolbarContent {
    public var body: Never { notDrawn() }
}

extension ToolbarItem where ID == () {
    // SwiftUI, "init(placement:content:)"
    public init(placement: ToolbarItemPlacement = .automatic, @ViewBuilder content: () -> Content) {}
}

// SwiftUI, "NavigationLink"
public struct NavigationLink<Label: View, Destination: View>: View {
    public typealias Body = Never
}

extension NavigationLink where Label == Text {
    // SwiftUI, "init(_:destination:)"
    @_disfavoredOverload
    public init<S: StringProtocol>(_ title: S, @ViewBuilder destination: () -> Destination) {}
}
