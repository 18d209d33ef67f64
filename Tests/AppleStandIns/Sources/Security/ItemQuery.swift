import Foundation

/// The part of `LAContext` that Security needs. `LAContext` is in a module that imports this one.
public protocol AuthenticationContext: AnyObject {
    var localizedReason: String { get }
    var interactionNotAllowed: Bool { get }
}

/// Reads a query dictionary. An unknown key, or a value of another type, is `errSecParam`.
struct Parameters {
    private var values: [String: Any]

    init(_ dictionary: CFDictionary) throws(Refusal) {
        guard let values = dictionary as? [String: Any] else { throw Refusal(errSecParam) }
        self.values = values
    }

    mutating func take<Value>(_ key: CFString, as type: Value.Type = Value.self) throws(Refusal) -> Value? {
        guard let value = values.removeValue(forKey: key as String) else { return nil }
        guard let typed = value as? Value else { throw Refusal(errSecParam) }
        return typed
    }

    func end() throws(Refusal) {
        if !values.isEmpty { throw Refusal(errSecParam) }
    }

    mutating func takeClass() throws(Refusal) {
        guard try take(kSecClass, as: String.self) == kSecClassGenericPassword as String else {
            throw Refusal(errSecParam)
        }
    }

    mutating func takeGroup(of app: SimulatedApp) throws(Refusal) -> String? {
        guard let group = try take(kSecAttrAccessGroup, as: String.self) else { return nil }
        guard app.accessGroups.contains(group) else { throw Refusal(errSecMissingEntitlement) }
        return group
    }

    mutating func takeProtection() throws(Refusal) -> Protection? {
        guard let text = try take(kSecAttrAccessible, as: String.self) else { return nil }
        guard let protection = Protection(rawValue: text) else { throw Refusal(errSecParam) }
        return protection
    }

    /// Whether the call uses the file-based Keychain of a Mac.
    mutating func takesFile(on device: SimulatedDevice) throws(Refusal) -> Bool {
        try take(kSecUseDataProtectionKeychain, as: Bool.self) != true && device.isMac
    }
}

/// For `SecItemAdd`.
struct ItemAttributes {
    let key: ItemKey
    let protection: Protection
    let accessControl: SecAccessControl?
    let data: Data

    init(_ dictionary: CFDictionary, of app: SimulatedApp) throws(Refusal) {
        var values = try Parameters(dictionary)
        try values.takeClass()
        let group = try values.takeGroup(of: app) ?? app.accessGroups.first
        guard let group else { throw Refusal(errSecMissingEntitlement) }
        key = ItemKey(
            isInFile: try values.takesFile(on: app.device), accessGroup: group,
            service: try values.take(kSecAttrService) ?? "", account: try values.take(kSecAttrAccount) ?? "",
            isSynchronizable: try values.take(kSecAttrSynchronizable) ?? false)
        let protection = try values.takeProtection()
        accessControl = try values.take(kSecAttrAccessControl)
        if accessControl != nil, protection != nil { throw Refusal(errSecParam) }
        self.protection = accessControl.flatMap { Protection(rawValue: $0.protection) } ?? protection ?? .whenUnlocked
        data = try values.take(kSecValueData) ?? Data()
        try values.end()
    }
}

/// The second argument of `SecItemUpdate`.
struct ItemChanges {
    let data: Data?
    let protection: Protection?

    init(_ dictionary: CFDictionary, of app: SimulatedApp) throws(Refusal) {
        var values = try Parameters(dictionary)
        data = try values.take(kSecValueData)
        protection = try values.takeProtection()
        try values.end()
    }
}

/// The query of the other three functions.
struct ItemQuery {
    let returnsData: Bool
    let returnsAttributes: Bool
    let isLimitedToOne: Bool
    let context: (any AuthenticationContext)?
    private let isInFile: Bool
    private let group: String?
    private let service: String?
    private let account: String?
    /// `nil` for `kSecAttrSynchronizableAny`.
    private let isSynchronizable: Bool?

    init(_ dictionary: CFDictionary, of app: SimulatedApp, isForUpdate: Bool = false) throws(Refusal) {
        var values = try Parameters(dictionary)
        try values.takeClass()
        isInFile = try values.takesFile(on: app.device)
        group = try values.takeGroup(of: app)
        service = try values.take(kSecAttrService)
        account = try values.take(kSecAttrAccount)
        let synchronizable = try values.take(kSecAttrSynchronizable, as: Any.self)
        if synchronizable as? String == kSecAttrSynchronizableAny as String {
            isSynchronizable = nil
        } else {
            isSynchronizable = synchronizable as? Bool ?? false
        }
        context = try values.take(kSecUseAuthenticationContext)
        if isForUpdate {
            (returnsData, returnsAttributes, isLimitedToOne) = (false, false, false)
        } else {
            returnsData = try values.take(kSecReturnData) ?? false
            returnsAttributes = try values.take(kSecReturnAttributes) ?? false
            isLimitedToOne = try values.take(kSecMatchLimit, as: String.self) != kSecMatchLimitAll as String
            // Security, "SecItemCopyMatching(_:_:)": one call cannot return the data of several passwords.
            if returnsData, !isLimitedToOne { throw Refusal(errSecParam) }
        }
        try values.end()
    }

    func matches(_ key: ItemKey, by app: SimulatedApp) -> Bool {
        key.isInFile == isInFile && app.accessGroups.contains(key.accessGroup)
            && (group == nil || group == key.accessGroup) && (service == nil || service == key.service)
            && (account == nil || account == key.account)
            && (isSynchronizable == nil || isSynchronizable == key.isSynchronizable)
    }

    func result(of items: [Item]) -> CFTypeRef? {
        guard returnsData || returnsAttributes else { return nil }
        guard isLimitedToOne else { return items.map(attributes) as NSArray }
        guard let item = items.first else { return nil }
        return returnsAttributes ? attributes(of: item) as NSDictionary : item.data as NSData
    }

    private func attributes(of item: Item) -> [String: Any] {
        var attributes: [String: Any] = [
            kSecAttrService as String: item.key.service, kSecAttrAccount as String: item.key.account,
            kSecAttrAccessGroup as String: item.key.accessGroup,
            kSecAttrSynchronizable as String: item.key.isSynchronizable,
            kSecAttrAccessible as String: item.protection.rawValue,
        ]
        if returnsData { attributes[kSecValueData as String] = item.data }
        return attributes
    }
}
