public import Foundation

// Security, "SecItemAdd(_:_:)"
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    call("SecItemAdd") { app throws(Refusal) in
        try app.device.keychain.add(ItemAttributes(attributes, of: app), by: app)
    }
}

// Security, "SecItemCopyMatching(_:_:)"
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    call("SecItemCopyMatching") { app throws(Refusal) in
        let query = try ItemQuery(query, of: app)
        let found = try app.device.keychain.find(query, by: app)
        result?.pointee = query.result(of: found)
    }
}

// Security, "SecItemUpdate(_:_:)"
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    call("SecItemUpdate") { app throws(Refusal) in
        try app.device.keychain.update(
            ItemQuery(query, of: app, isForUpdate: true), with: ItemChanges(attributesToUpdate, of: app), by: app)
    }
}

// Security, "SecItemDelete(_:)"
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    call("SecItemDelete") { app throws(Refusal) in
        try app.device.keychain.delete(ItemQuery(query, of: app, isForUpdate: true), by: app)
    }
}

/// Why a call is refused.
struct Refusal: Error {
    let status: OSStatus

    init(_ status: OSStatus) { self.status = status }
}

private func call(_ name: String, _ body: (SimulatedApp) throws(Refusal) -> Void) -> OSStatus {
    guard let app = SimulatedApp.current else { return errSecNotAvailable }
    app.device.willCall(name)
    do throws(Refusal) {
        if let status = app.device.failure(of: name) { throw Refusal(status) }
        try body(app)
        return errSecSuccess
    } catch {
        return error.status
    }
}
