public import Foundation

// The keys and values of Keychain queries that the client uses. Apple declares them as CFString constants. Foundation
// on Linux has no CFString, so NSString replaces it; `as` converts it in the same way.

public typealias CFString = NSString
public typealias CFDictionary = NSDictionary
public typealias CFTypeRef = AnyObject
public typealias CFError = NSError
public typealias CFAllocator = NSObject

// Security, "kSecClass", "kSecClassGenericPassword"
public var kSecClass: CFString { "class" }
public var kSecClassGenericPassword: CFString { "genp" }

// Security, "kSecAttrService", "kSecAttrAccount", "kSecAttrAccessGroup", "kSecAttrSynchronizable",
// "kSecAttrSynchronizableAny"
public var kSecAttrService: CFString { "svce" }
public var kSecAttrAccount: CFString { "acct" }
public var kSecAttrAccessGroup: CFString { "agrp" }
public var kSecAttrSynchronizable: CFString { "sync" }
public var kSecAttrSynchronizableAny: CFString { "syna" }

// Security, "kSecAttrAccessible" and its values
public var kSecAttrAccessible: CFString { "pdmn" }
public var kSecAttrAccessibleWhenUnlocked: CFString { "ak" }
public var kSecAttrAccessibleAfterFirstUnlock: CFString { "ck" }
public var kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString { "aku" }
public var kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString { "cku" }
public var kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString { "akpu" }

// Security, "kSecAttrAccessControl"
public var kSecAttrAccessControl: CFString { "accc" }

// Security, "kSecValueData", "kSecReturnData", "kSecReturnAttributes"
public var kSecValueData: CFString { "v_Data" }
public var kSecReturnData: CFString { "r_Data" }
public var kSecReturnAttributes: CFString { "r_Attributes" }

// Security, "kSecMatchLimit", "kSecMatchLimitOne", "kSecMatchLimitAll"
public var kSecMatchLimit: CFString { "m_Limit" }
public var kSecMatchLimitOne: CFString { "m_LimitOne" }
public var kSecMatchLimitAll: CFString { "m_LimitAll" }

// Security, "kSecUseAuthenticationContext", "kSecUseDataProtectionKeychain"
public var kSecUseAuthenticationContext: CFString { "u_AuthCtx" }
public var kSecUseDataProtectionKeychain: CFString { "nleg" }
