public import Combine
public import Foundation
public import Observation
#if canImport(UIKit)
    public import UIKit
#else
    public import AppKit
#endif

extension View {
    // SwiftUI, "padding(_:_:)"
    public func padding(_ edges: Edge.Set = .all, _ length: CGFloat? = nil) -> some View { self }

    // SwiftUI, "frame(minWidth:idealWidth:maxWidth:minHeight:idealHeight:maxHeight:alignment:)"
    public func frame(
        minWidth: CGFloat? = nil, idealWidth: CGFloat? = nil, maxWidth: CGFloat? = nil, minHeight: CGFloat? = nil,
        idealHeight: CGFloat? = nil, maxHeight: CGFloat? = nil, alignment: Alignment = .center
    ) -> some View { self }

    // SwiftUI, "background(alignment:content:)"
    public func background<V: View>(
        alignment: Alignment = .center, @ViewBuilder content: () -> V
    ) -> some View { self }

    // SwiftUI, "overlay(alignment:content:)"
    public func overlay<V: View>(alignment: Alignment = .center, @ViewBuilder content: () -> V) -> some View { self }

    // SwiftUI, "scrollContentBackground(_:)"
    public func scrollContentBackground(_ visibility: Visibility) -> some View { self }

    // SwiftUI, "ignoresSafeArea(_:edges:)"
    public func ignoresSafeArea(_ regions: SafeAreaRegions = .all, edges: Edge.Set = .all) -> some View { self }

    // SwiftUI, "tint(_:)"
    public func tint(_ tint: Color?) -> some View { self }

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

    #if canImport(UIKit)
        // SwiftUI, "textContentType(_:)"
        public func textContentType(_ textContentType: UITextContentType?) -> some View { self }

        // SwiftUI, "keyboardType(_:)"
        public func keyboardType(_ type: UIKeyboardType) -> some View { self }

        // SwiftUI, "textInputAutocapitalization(_:)"
        public func textInputAutocapitalization(_ autocapitalization: TextInputAutocapitalization?) -> some View {
            self
        }
    #else
        // SwiftUI, "textContentType(_:)"
        public func textContentType(_ textContentType: NSTextContentType?) -> some View { self }
    #endif

    // SwiftUI, "autocorrectionDisabled(_:)"
    public func autocorrectionDisabled(_ disable: Bool = true) -> some View { self }

    // SwiftUI, "submitLabel(_:)"
    public func submitLabel(_ submitLabel: SubmitLabel) -> some View { self }

    // SwiftUI, "disabled(_:)"
    public func disabled(_ disabled: Bool) -> some View { self }

    // SwiftUI, "accessibilityAddTraits(_:)"
    public func accessibilityAddTraits(_ traits: AccessibilityTraits) -> some View { self }

    // SwiftUI, "accessibilityLabel(_:)"
    public func accessibilityLabel(_ label: Text) -> some View { self }

    // SwiftUI, "accessibilityHint(_:)"
    public func accessibilityHint(_ hint: Text) -> some View { self }

    // SwiftUI, "accessibilityIdentifier(_:)"
    public func accessibilityIdentifier(_ identifier: String) -> some View { self }

    // SwiftUI, "accessibilityElement(children:)"
    public func accessibilityElement(children: AccessibilityChildBehavior = .ignore) -> some View { self }

    // SwiftUI, "accessibilityHidden(_:)"
    public func accessibilityHidden(_ hidden: Bool) -> some View { self }

    // SwiftUI, "onSubmit(of:_:)"
    public func onSubmit(_ action: @escaping @MainActor () -> Void) -> some View { self }

    // SwiftUI, "focused(_:equals:)"
    public func focused<Value: Hashable>(
        _ binding: FocusState<Value>.Binding, equals value: Value
    ) -> some View { self }

    // SwiftUI, "id(_:)"
    public func id<ID: Hashable>(_ id: ID) -> some View { self }

    // SwiftUI, "task(priority:_:)"
    public func task(
        priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: @escaping @Sendable @isolated(any) () async -> Void
    ) -> some View { self }

    // SwiftUI, "task(id:priority:_:)"
    public func task<T: Equatable>(
        id value: T, priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: @escaping @Sendable @isolated(any) () async -> Void
    ) -> some View { self }

    // SwiftUI, "alert(_:isPresented:actions:message:)"
    public func alert<S: StringProtocol, A: View, M: View>(
        _ title: S, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A, @ViewBuilder message: () -> M
    ) -> some View { self }

    // SwiftUI, "confirmationDialog(_:isPresented:titleVisibility:presenting:actions:message:)"
    @_disfavoredOverload
    public func confirmationDialog<S: StringProtocol, A: View, M: View, T>(
        _ title: S, isPresented: Binding<Bool>, titleVisibility: Visibility = .automatic, presenting data: T?,
        @ViewBuilder actions: (T) -> A, @ViewBuilder message: (T) -> M
    ) -> some View { self }

    // SwiftUI, "sheet(isPresented:onDismiss:content:)"
    public func sheet<Content: View>(
        isPresented: Binding<Bool>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping () -> Content
    ) -> some View { self }

    // SwiftUI, "sheet(item:onDismiss:content:)"
    public func sheet<Item: Identifiable, Content: View>(
        item: Binding<Item?>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping (Item) -> Content
    ) -> some View { self }

    // SwiftUI, "onAppear(perform:)"
    public func onAppear(perform action: (() -> Void)? = nil) -> some View { self }

    // SwiftUI, "onDisappear(perform:)"
    public func onDisappear(perform action: (() -> Void)? = nil) -> some View { self }

    // SwiftUI, "onOpenURL(perform:)"
    public func onOpenURL(perform action: @escaping (URL) -> Void) -> some View { self }

    // SwiftUI, "environment(_:_:)"
    public func environment<V>(_ keyPath: WritableKeyPath<EnvironmentValues, V>, _ value: V) -> some View {
        _EnvironmentView(content: self, keyPath: keyPath, value: value)
    }

    // SwiftUI, "transformEnvironment(_:transform:)"
    public func transformEnvironment<V>(
        _ keyPath: WritableKeyPath<EnvironmentValues, V>, transform: @escaping (inout V) -> Void
    ) -> some View { self }

    // SwiftUI, "previewDisplayName(_:)"
    public func previewDisplayName(_ value: String?) -> some View { self }

    // SwiftUI, "environmentObject(_:)"
    public func environmentObject<T: ObservableObject>(_ object: T) -> some View { self }

    // SwiftUI, "environment(_:)"
    public func environment<T: AnyObject & Observable>(_ object: T?) -> some View { self }

    // SwiftUI, "tabItem(_:)"
    public func tabItem<V: View>(@ViewBuilder _ label: () -> V) -> some View { self }

    // SwiftUI, "navigationTitle(_:)"
    public func navigationTitle(_ titleKey: LocalizedStringKey) -> some View { self }

    @_disfavoredOverload
    public func navigationTitle<S: StringProtocol>(_ title: S) -> some View { self }

    // SwiftUI, "toolbar(content:)"
    public func toolbar<Content: ToolbarContent>(@ToolbarContentBuilder content: () -> Content) -> some View { self }

    // SwiftUI, "swipeActions(edge:allowsFullSwipe:content:)"
    public func swipeActions<T: View>(
        edge: HorizontalEdge = .trailing, allowsFullSwipe: Bool = true, @ViewBuilder content: () -> T
    ) -> some View { self }

    // SwiftUI, "contextMenu(menuItems:)"
    public func contextMenu<MenuItems: View>(@ViewBuilder menuItems: () -> MenuItems) -> some View { self }

    // SwiftUI, "refreshable(action:)"
    public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { self }
}

// MARK: - Types of the parameters

// SwiftUI, "HorizontalAlignment"
public struct HorizontalAlignment: Sendable {
    public static let leading = HorizontalAlignment()
    public static let center = HorizontalAlignment()
}

// SwiftUI, "Alignment"
public struct Alignment: Sendable {
    public static let leading = Alignment()
    public static let center = Alignment()
}

// SwiftUI, "Edge.Set"
public enum Edge: Sendable {
    public struct Set: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let all = Set(rawValue: 15)
    }
}

// SwiftUI, "Axis", "Axis.Set"
public enum Axis: Sendable {
    public struct Set: OptionSet, Sendable {
        public let rawValue: Int8

        public init(rawValue: Int8) { self.rawValue = rawValue }

        public static let horizontal = Set(rawValue: 1)
        public static let vertical = Set(rawValue: 2)
    }
}

// SwiftUI, "HorizontalEdge"
public enum HorizontalEdge: Sendable {
    case leading, trailing
}

// SwiftUI, "Font"
public struct Font: Sendable {
    public static let largeTitle = Font()
    public static let body = Font()
    public static let footnote = Font()

    // SwiftUI, "custom(_:size:relativeTo:)"
    public static func custom(_ name: String, size: CGFloat, relativeTo textStyle: Font.TextStyle) -> Font { Font() }

    // SwiftUI, "Font.TextStyle"
    public enum TextStyle: Sendable {
        case largeTitle, body, footnote
    }

    // SwiftUI, "bold()"
    public func bold() -> Font { self }
}

// SwiftUI, "ShapeStyle"
public protocol ShapeStyle: Sendable {}

// SwiftUI, "Color"
public struct Color: ShapeStyle {
    // SwiftUI, "init(_:bundle:)"
    public init(_ name: String, bundle: Bundle? = nil) {}

    init() {}

    public static let clear = Color()
    public static let orange = Color()
    public static let primary = Color()
    public static let secondary = Color()
    public static let red = Color()

    // SwiftUI, "opacity(_:)"
    public func opacity(_ opacity: Double) -> Color { self }
}

extension Color: View {
    public typealias Body = Never
}

extension ShapeStyle where Self == Color {
    public static var red: Color { Color() }
}

// SwiftUI, "BackgroundStyle"
public struct BackgroundStyle: ShapeStyle {}

extension ShapeStyle where Self == BackgroundStyle {
    public static var background: BackgroundStyle { BackgroundStyle() }
}

// SwiftUI, "Rectangle"
public struct Rectangle: View {
    public typealias Body = Never

    public init() {}

    // SwiftUI, "fill(_:style:)"
    public func fill<S: ShapeStyle>(_ content: S) -> some View { self }
}

// SwiftUI, "SafeAreaRegions"
public struct SafeAreaRegions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let all = Self(rawValue: 3)
}

// SwiftUI, "HierarchicalShapeStyle"
public struct HierarchicalShapeStyle: ShapeStyle {}

extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}

// SwiftUI, "TextAlignment"
public enum TextAlignment: Sendable {
    case leading, center, trailing
}

// SwiftUI, "SubmitLabel"
public struct SubmitLabel: Sendable {
    public static let next = SubmitLabel()
    public static let go = SubmitLabel()
}

// SwiftUI, "ControlSize"
public enum ControlSize: Sendable {
    case small, regular, large
}

// SwiftUI, "Visibility"
public enum Visibility: Sendable {
    case automatic, visible, hidden
}

// SwiftUI, "PrimitiveButtonStyle", "BorderedProminentButtonStyle"
@MainActor
public protocol PrimitiveButtonStyle {}

public struct BorderedProminentButtonStyle: PrimitiveButtonStyle {
    public init() {}
}

extension PrimitiveButtonStyle where Self == BorderedProminentButtonStyle {
    public static var borderedProminent: BorderedProminentButtonStyle { BorderedProminentButtonStyle() }
}

// SwiftUI, "TextFieldStyle", "RoundedBorderTextFieldStyle"
@MainActor
public protocol TextFieldStyle {}

public struct RoundedBorderTextFieldStyle: TextFieldStyle {
    public init() {}
}

extension TextFieldStyle where Self == RoundedBorderTextFieldStyle {
    public static var roundedBorder: RoundedBorderTextFieldStyle { RoundedBorderTextFieldStyle() }
}

// SwiftUI, "TextInputAutocapitalization"
public struct TextInputAutocapitalization: Sendable {
    public static var never: TextInputAutocapitalization { TextInputAutocapitalization() }
}

// SwiftUI, "AccessibilityChildBehavior"
public struct AccessibilityChildBehavior: Hashable, Sendable {
    public static let ignore = AccessibilityChildBehavior()
    public static let combine = AccessibilityChildBehavior()
}

// SwiftUI, "AccessibilityTraits"
public struct AccessibilityTraits: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let isHeader = Self(rawValue: 1)
}
