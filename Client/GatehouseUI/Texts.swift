#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    /// The texts of one language, which runs in one direction: a screen is not half of one and half of the other.
    struct Texts {
        let language: String

        init(_ locale: Locale) { language = AppLanguage.of(screen: locale) }

        subscript(_ text: InterfaceText) -> String { text.text(in: language) }

        var direction: LayoutDirection { InterfaceText.isRightToLeft(language) ? .rightToLeft : .leftToRight }
    }
#endif
