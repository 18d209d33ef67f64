public import Foundation

// SwiftUI, "VStack"
public struct VStack<Content: View>: View {
    public let body: Content

    // SwiftUI, "init(alignment:spacing:content:)"
    public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) { body = content() }
}

// SwiftUI, "HStack"
public struct HStack<Content: View>: View {
    public let body: Content

    // SwiftUI, "init(alignment:spacing:content:)"
    public init(alignment: VerticalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {
        body = content()
    }
}

// SwiftUI, "ScrollView"
public struct ScrollView<Content: View>: View {
    public let body: Content

    // SwiftUI, "init(_:showsIndicators:content:)"
    public init(@ViewBuilder content: () -> Content) { body = content() }
}

// SwiftUI, "HorizontalAlignment"
public struct HorizontalAlignment: Sendable {
    public static let leading = HorizontalAlignment()
    public static let center = HorizontalAlignment()
}

// SwiftUI, "VerticalAlignment"
public struct VerticalAlignment: Sendable {
    public static let center = VerticalAlignment()
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
        public static let horizontal = Set(rawValue: 10)
        public static let vertical = Set(rawValue: 5)
    }
}

// SwiftUI, "Font"
public struct Font: Sendable {
    public static let largeTitle = Font()
    public static let body = Font()
    public static let footnote = Font()

    // SwiftUI, "bold()"
    public func bold() -> Font { self }
}

// SwiftUI, "ShapeStyle"
public protocol ShapeStyle: Sendable {}

// SwiftUI, "Color"
public struct Color: ShapeStyle {
    public static let red = Color()
    public static let primary = Color()
    public static let secondary = Color()
}

extension ShapeStyle where Self == Color {
    public static var red: Color { Color.red }
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

// SwiftUI, "AccessibilityTraits"
public struct AccessibilityTraits: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let isHeader = Self(rawValue: 1)
}
