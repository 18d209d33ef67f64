import Foundation
import Synchronization

/// The values of `kSecAttrAccessible`.
enum Protection: String, Sendable {
    case whenUnlocked = "ak"
    case afterFirstUnlock = "ck"
    case whenUnlockedThisDeviceOnly = "aku"
    case afterFirstUnlockThisDeviceOnly = "cku"
    case whenPasscodeSetThisDeviceOnly = "akpu"

    func isAvailable(_ lock: SimulatedDevice.Lock) -> Bool {
        switch self {
        case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: lock != .beforeFirstUnlock
        case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: lock == .unlocked
        }
    }
}

/// A generic password. ``ItemKey`` is its unique key (Security, "errSecDuplicateItem").
struct Item: Sendable {
    var key: ItemKey
    var protection: Protection
    var accessControl: SecAccessControl?
    /// The biometrics that were enrolled when it was added.
    var enrolment: Int?
    var data: Data
}

struct ItemKey: Sendable, Hashable {
    var isInFile: Bool
    var accessGroup: String
    var service: String
    var account: String
    var isSynchronizable: Bool
}

/// The implementation of the four functions.
final class SimulatedKeychain: Sendable {
    private let items = Mutex<[Item]>([])

    func add(_ attributes: ItemAttributes, by app: SimulatedApp) throws(Refusal) {
        let enrolment = app.device.enrolment
        let item = Item(
            key: attributes.key, protection: attributes.protection, accessControl: attributes.accessControl,
            enrolment: enrolment, data: attributes.data)
        if item.accessControl?.flags.contains(.biometryCurrentSet) == true, enrolment == nil {
            throw Refusal(errSecAuthFailed)
        }
        if item.protection == .whenPasscodeSetThisDeviceOnly, !app.device.hasPasscode {
            throw Refusal(errSecAuthFailed)
        }
        try check(item, by: app)
        let isNew = items.withLock { items in
            forgetInvalid(&items, enrolment)
            if items.contains(where: { $0.key == item.key }) { return false }
            items.append(item)
            return true
        }
        if !isNew { throw Refusal(errSecDuplicateItem) }
    }

    func find(_ query: ItemQuery, by app: SimulatedApp) throws(Refusal) -> [Item] {
        let found = try matches(query, by: app)
        for item in found where query.returnsData { try authenticate(item, query, by: app) }
        return found
    }

    func update(_ query: ItemQuery, with changes: ItemChanges, by app: SimulatedApp) throws(Refusal) {
        let found = try matches(query, by: app)
        for item in found { try authenticate(item, query, by: app) }
        let keys = Set(found.map(\.key))
        // Another process may have deleted the item between the look-up and the change.
        let changed = items.withLock { items in
            var changed = 0
            for index in items.indices where keys.contains(items[index].key) {
                changed += 1
                if let data = changes.data { items[index].data = data }
                if let protection = changes.protection { items[index].protection = protection }
            }
            return changed
        }
        if changed == 0 { throw Refusal(errSecItemNotFound) }
    }

    func delete(_ query: ItemQuery, by app: SimulatedApp) throws(Refusal) {
        let keys = Set(try matches(query, by: app).map(\.key))
        items.withLock { items in items.removeAll { keys.contains($0.key) } }
    }

    /// The items that need a passcode are deleted with it (Security,
    /// "kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly").
    func passcodeRemoved() {
        items.withLock { items in items.removeAll { $0.protection == .whenPasscodeSetThisDeviceOnly } }
    }

    private func matches(_ query: ItemQuery, by app: SimulatedApp) throws(Refusal) -> [Item] {
        let enrolment = app.device.enrolment
        let all = items.withLock { items in
            forgetInvalid(&items, enrolment)
            return items.filter { query.matches($0.key, by: app) }
        }
        let found = query.isLimitedToOne ? Array(all.prefix(1)) : all
        if found.isEmpty { throw Refusal(errSecItemNotFound) }
        for item in found { try check(item, by: app) }
        return found
    }

    /// Items with `biometryCurrentSet` are lost when the biometrics change (Security,
    /// "SecAccessControlCreateFlags.biometryCurrentSet").
    private func forgetInvalid(_ items: inout [Item], _ enrolment: Int?) {
        items.removeAll { $0.accessControl?.flags.contains(.biometryCurrentSet) == true && $0.enrolment != enrolment }
    }

    private func check(_ item: Item, by app: SimulatedApp) throws(Refusal) {
        // The user's log-in unlocks the file-based Keychain.
        guard item.key.isInFile || item.protection.isAvailable(app.device.lock) else {
            throw Refusal(errSecInteractionNotAllowed)
        }
    }

    private func authenticate(_ item: Item, _ query: ItemQuery, by app: SimulatedApp) throws(Refusal) {
        guard item.accessControl != nil else { return }
        if query.context?.interactionNotAllowed == true { throw Refusal(errSecInteractionNotAllowed) }
        try app.device.prompt(query.context?.localizedReason ?? "")
    }
}
