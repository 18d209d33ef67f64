#if canImport(SwiftUI)
    import Foundation
    import GatehouseClient
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #endif

    /// What VoiceOver says besides what is under the user's finger. On a Mac nothing is.
    enum Announcement {
        @MainActor
        static func post(_ text: String) {
            #if canImport(UIKit)
                // After what VoiceOver is saying: a field that gets the focus is read at the same moment.
                UIAccessibility.post(
                    notification: .announcement,
                    argument: NSAttributedString(
                        string: text, attributes: [.accessibilitySpeechQueueAnnouncement: true]))
            #endif
        }
    }

    /// The texts of one language, which runs in one direction: a screen is not half of one and half of the other.
    struct Texts {
        let language: String

        init(_ locale: Locale) { language = AppLanguage.of(screen: locale) }

        subscript(_ text: InterfaceText) -> String { text.text(in: language) }

        var direction: LayoutDirection { InterfaceText.isRightToLeft(language) ? .rightToLeft : .leftToRight }
    }
#endif
