import Foundation
import GatehouseServiceContracts
import IdentityCore

extension MessageKind {
    static let signIn = MessageKind(
        "signIn", required: .code, allowed: [.code, .link, .app, .minutes], isOptional: false,
        templates: [
            "en": PackageResources.signIn_en_txt, "he": PackageResources.signIn_he_txt,
            "ru": PackageResources.signIn_ru_txt, "ar": PackageResources.signIn_ar_txt,
        ])
    static let verify = MessageKind(
        "verify", required: .code, allowed: [.code, .link, .app, .minutes], isOptional: false,
        templates: [
            "en": PackageResources.verify_en_txt, "he": PackageResources.verify_he_txt,
            "ru": PackageResources.verify_ru_txt, "ar": PackageResources.verify_ar_txt,
        ])
    static let stepUp = MessageKind(
        "stepUp", required: .code, allowed: [.code, .link, .app, .minutes],
        templates: [
            "en": PackageResources.stepUp_en_txt, "he": PackageResources.stepUp_he_txt,
            "ru": PackageResources.stepUp_ru_txt, "ar": PackageResources.stepUp_ar_txt,
        ])
    /// A code that merges the account with another one.
    static let merge = MessageKind(
        "merge", required: .code, allowed: [.code, .link, .app, .minutes],
        templates: [
            "en": PackageResources.merge_en_txt, "he": PackageResources.merge_he_txt,
            "ru": PackageResources.merge_ru_txt, "ar": PackageResources.merge_ar_txt,
        ])

    static let ofCodes = [signIn, verify, stepUp, merge]

    /// The kind of message that delivers a code for the purpose.
    static func of(_ purpose: CodePurpose) -> MessageKind {
        switch purpose {
        case .verify: .verify
        case .stepUp: .stepUp
        case .merge: .merge
        default: .signIn
        }
    }
}

extension MessageQueue {
    func message(with code: CodeStore.New, language: MessageLanguage) -> MessageEnvelope {
        var values: [MessagePlaceholder: String] = [.code: code.code.digits]
        // Behind the #, because browsers do not send the fragment to servers, so that it appears in no server log.
        values[.link] = codeLink.map { "\($0.absoluteString)#\(code.link.text)" }
        return MessageEnvelope(
            .of(code.purpose), to: code.identifier, language: language, values: values,
            expiresAt: Date.now.addingTimeInterval(Double(CodeRules.lifetime)))
    }
}
