public import Foundation

// Security, "SecAccessControl"
public final class SecAccessControl: Sendable {
    let protection: String
    let flags: SecAccessControlCreateFlags

    init(protection: String, flags: SecAccessControlCreateFlags) {
        self.protection = protection
        self.flags = flags
    }
}

// Security, "SecAccessControlCreateFlags"
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    // Security, "SecAccessControlCreateFlags.userPresence", "SecAccessControlCreateFlags.biometryCurrentSet"
    public static let userPresence = Self(rawValue: 1 << 0)
    public static let biometryCurrentSet = Self(rawValue: 1 << 3)
}

// Security, "SecAccessControlCreateWithFlags(_:_:_:_:)"
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    guard let protection = protection as? NSString, Protection(rawValue: protection as String) != nil else {
        error?.pointee = Unmanaged.passRetained(
            NSError(domain: NSOSStatusErrorDomain, code: Int(errSecParam), userInfo: nil))
        return nil
    }
    return SecAccessControl(protection: protection as String, flags: flags)
}

// Foundation, "NSOSStatusErrorDomain": not in Foundation of Linux.
public let NSOSStatusErrorDomain = "NSOSStatusErrorDomain"
