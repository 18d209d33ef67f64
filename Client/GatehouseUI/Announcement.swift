#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #endif

    /// VoiceOver announcements. On a Mac nothing is announced.
    enum Announcement {
        @MainActor
        static func post(_ text: String) {
            #if canImport(UIKit)
                // Queue the announcement after VoiceOver's current speech, because a field that gets the focus is read
                // at the same moment.
                UIAccessibility.post(
                    notification: .announcement,
                    argument: NSAttributedString(
                        string: text, attributes: [.accessibilitySpeechQueueAnnouncement: true]))
            #endif
        }
    }

    /// The texts of one language and its layout direction, so that a screen never mixes two languages.
    struct Texts {
        let language: String

        init(_ locale: Locale) { language = AppLanguage.of(screen: locale) }

        subscript(_ text: InterfaceText) -> String { text.text(in: language) }

        var direction: LayoutDirection { InterfaceText.isRightToLeft(language) ? .rightToLeft : .leftToRight }
    }
#endif
