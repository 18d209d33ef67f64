import GatehouseContracts

/// The names of Apple's models by their identifiers.
///
/// Apple lists the identifiers of Macs: "Identify your MacBook Pro model" (support.apple.com/108052), and the pages for
/// MacBook Air (102869), iMac (108054), Mac mini (102852), Mac Studio (102231) and Mac Pro (102887). Those of iPhones
/// and iPads, which Apple does not list, are in DeviceKit (github.com/devicekit/DeviceKit, `Source/Device.swift.gyb`).
/// The table begins with the first models that run iOS 16 and macOS 13.
enum DeviceModel {
    /// - Returns: the identifier itself if this version does not know the model.
    static func name(of identifier: String) -> String { names[identifier] ?? identifier }

    static let all = iPhones + iPads + macs

    private static let names: [String: String] = {
        var names: [String: String] = [:]
        for (name, identifiers) in all {
            for identifier in identifiers { names[identifier] = name }
        }
        return names
    }()

    private static let iPhones: [(name: String, identifiers: [String])] = [
        ("iPhone 8", ["iPhone10,1", "iPhone10,4"]),
        ("iPhone 8 Plus", ["iPhone10,2", "iPhone10,5"]),
        ("iPhone X", ["iPhone10,3", "iPhone10,6"]),
        ("iPhone XS", ["iPhone11,2"]),
        ("iPhone XS Max", ["iPhone11,4", "iPhone11,6"]),
        ("iPhone XR", ["iPhone11,8"]),
        ("iPhone 11", ["iPhone12,1"]),
        ("iPhone 11 Pro", ["iPhone12,3"]),
        ("iPhone 11 Pro Max", ["iPhone12,5"]),
        ("iPhone SE (2nd generation)", ["iPhone12,8"]),
        ("iPhone 12 mini", ["iPhone13,1"]),
        ("iPhone 12", ["iPhone13,2"]),
        ("iPhone 12 Pro", ["iPhone13,3"]),
        ("iPhone 12 Pro Max", ["iPhone13,4"]),
        ("iPhone 13 Pro", ["iPhone14,2"]),
        ("iPhone 13 Pro Max", ["iPhone14,3"]),
        ("iPhone 13 mini", ["iPhone14,4"]),
        ("iPhone 13", ["iPhone14,5"]),
        ("iPhone SE (3rd generation)", ["iPhone14,6"]),
        ("iPhone 14", ["iPhone14,7"]),
        ("iPhone 14 Plus", ["iPhone14,8"]),
        ("iPhone 14 Pro", ["iPhone15,2"]),
        ("iPhone 14 Pro Max", ["iPhone15,3"]),
        ("iPhone 15", ["iPhone15,4"]),
        ("iPhone 15 Plus", ["iPhone15,5"]),
        ("iPhone 15 Pro", ["iPhone16,1"]),
        ("iPhone 15 Pro Max", ["iPhone16,2"]),
        ("iPhone 16 Pro", ["iPhone17,1"]),
        ("iPhone 16 Pro Max", ["iPhone17,2"]),
        ("iPhone 16", ["iPhone17,3"]),
        ("iPhone 16 Plus", ["iPhone17,4"]),
        ("iPhone 16e", ["iPhone17,5"]),
        ("iPhone 17 Pro", ["iPhone18,1"]),
        ("iPhone 17 Pro Max", ["iPhone18,2"]),
        ("iPhone 17", ["iPhone18,3"]),
        ("iPhone Air", ["iPhone18,4"]),
        ("iPhone 17e", ["iPhone18,5"]),
    ]

    private static let iPads: [(name: String, identifiers: [String])] = [
        ("iPad (5th generation)", ["iPad6,11", "iPad6,12"]),
        ("iPad (6th generation)", ["iPad7,5", "iPad7,6"]),
        ("iPad (7th generation)", ["iPad7,11", "iPad7,12"]),
        ("iPad (8th generation)", ["iPad11,6", "iPad11,7"]),
        ("iPad (9th generation)", ["iPad12,1", "iPad12,2"]),
        ("iPad (10th generation)", ["iPad13,18", "iPad13,19"]),
        ("iPad (A16)", ["iPad15,7", "iPad15,8"]),
        ("iPad mini (5th generation)", ["iPad11,1", "iPad11,2"]),
        ("iPad mini (6th generation)", ["iPad14,1", "iPad14,2"]),
        ("iPad mini (A17 Pro)", ["iPad16,1", "iPad16,2"]),
        ("iPad Air (3rd generation)", ["iPad11,3", "iPad11,4"]),
        ("iPad Air (4th generation)", ["iPad13,1", "iPad13,2"]),
        ("iPad Air (5th generation)", ["iPad13,16", "iPad13,17"]),
        ("iPad Air 11-inch (M2)", ["iPad14,8", "iPad14,9"]),
        ("iPad Air 13-inch (M2)", ["iPad14,10", "iPad14,11"]),
        ("iPad Air 11-inch (M3)", ["iPad15,3", "iPad15,4"]),
        ("iPad Air 13-inch (M3)", ["iPad15,5", "iPad15,6"]),
        ("iPad Air 11-inch (M4)", ["iPad16,8", "iPad16,9"]),
        ("iPad Air 13-inch (M4)", ["iPad16,10", "iPad16,11"]),
        ("iPad Pro (9.7-inch)", ["iPad6,3", "iPad6,4"]),
        ("iPad Pro (12.9-inch)", ["iPad6,7", "iPad6,8"]),
        ("iPad Pro (12.9-inch, 2nd generation)", ["iPad7,1", "iPad7,2"]),
        ("iPad Pro (10.5-inch)", ["iPad7,3", "iPad7,4"]),
        ("iPad Pro (11-inch)", ["iPad8,1", "iPad8,2", "iPad8,3", "iPad8,4"]),
        ("iPad Pro (12.9-inch, 3rd generation)", ["iPad8,5", "iPad8,6", "iPad8,7", "iPad8,8"]),
        ("iPad Pro (11-inch, 2nd generation)", ["iPad8,9", "iPad8,10"]),
        ("iPad Pro (12.9-inch, 4th generation)", ["iPad8,11", "iPad8,12"]),
        ("iPad Pro (11-inch, 3rd generation)", ["iPad13,4", "iPad13,5", "iPad13,6", "iPad13,7"]),
        ("iPad Pro (12.9-inch, 5th generation)", ["iPad13,8", "iPad13,9", "iPad13,10", "iPad13,11"]),
        ("iPad Pro (11-inch, 4th generation)", ["iPad14,3", "iPad14,4"]),
        ("iPad Pro (12.9-inch, 6th generation)", ["iPad14,5", "iPad14,6"]),
        ("iPad Pro 11-inch (M4)", ["iPad16,3", "iPad16,4"]),
        ("iPad Pro 13-inch (M4)", ["iPad16,5", "iPad16,6"]),
        ("iPad Pro 11-inch (M5)", ["iPad17,1", "iPad17,2"]),
        ("iPad Pro 13-inch (M5)", ["iPad17,3", "iPad17,4"]),
    ]

    private static let macs: [(name: String, identifiers: [String])] = [
        ("MacBook (12-inch, 2017)", ["MacBook10,1"]),
        ("MacBook Air (13-inch, 2018)", ["MacBookAir8,1"]),
        ("MacBook Air (13-inch, 2019)", ["MacBookAir8,2"]),
        ("MacBook Air (13-inch, 2020)", ["MacBookAir9,1"]),
        ("MacBook Air (M1, 2020)", ["MacBookAir10,1"]),
        ("MacBook Air (M2, 2022)", ["Mac14,2"]),
        ("MacBook Air (15-inch, M2, 2023)", ["Mac14,15"]),
        ("MacBook Air (13-inch, M3, 2024)", ["Mac15,12"]),
        ("MacBook Air (15-inch, M3, 2024)", ["Mac15,13"]),
        ("MacBook Air (13-inch, M4, 2025)", ["Mac16,12"]),
        ("MacBook Air (15-inch, M4, 2025)", ["Mac16,13"]),
        ("MacBook Air (13-inch, M5)", ["Mac17,3"]),
        ("MacBook Air (15-inch, M5)", ["Mac17,4"]),
        ("MacBook Pro (13-inch, 2017)", ["MacBookPro14,1", "MacBookPro14,2"]),
        ("MacBook Pro (15-inch, 2017)", ["MacBookPro14,3"]),
        ("MacBook Pro (13-inch, 2018 or 2019)", ["MacBookPro15,2"]),
        ("MacBook Pro (15-inch, 2018 or 2019)", ["MacBookPro15,1", "MacBookPro15,3"]),
        ("MacBook Pro (13-inch, 2019)", ["MacBookPro15,4"]),
        ("MacBook Pro (16-inch, 2019)", ["MacBookPro16,1", "MacBookPro16,4"]),
        ("MacBook Pro (13-inch, 2020)", ["MacBookPro16,2", "MacBookPro16,3"]),
        ("MacBook Pro (13-inch, M1, 2020)", ["MacBookPro17,1"]),
        ("MacBook Pro (14-inch, 2021)", ["MacBookPro18,3", "MacBookPro18,4"]),
        ("MacBook Pro (16-inch, 2021)", ["MacBookPro18,1", "MacBookPro18,2"]),
        ("MacBook Pro (13-inch, M2, 2022)", ["Mac14,7"]),
        ("MacBook Pro (14-inch, 2023)", ["Mac14,5", "Mac14,9"]),
        ("MacBook Pro (16-inch, 2023)", ["Mac14,6", "Mac14,10"]),
        ("MacBook Pro (14-inch, Nov 2023)", ["Mac15,3", "Mac15,6", "Mac15,8", "Mac15,10"]),
        ("MacBook Pro (16-inch, Nov 2023)", ["Mac15,7", "Mac15,9", "Mac15,11"]),
        ("MacBook Pro (14-inch, 2024)", ["Mac16,1", "Mac16,6", "Mac16,8"]),
        ("MacBook Pro (16-inch, 2024)", ["Mac16,5", "Mac16,7"]),
        ("MacBook Pro (14-inch, M5)", ["Mac17,2"]),
        ("MacBook Pro (14-inch, M5 Pro or M5 Max)", ["Mac17,7", "Mac17,9"]),
        ("MacBook Pro (16-inch, M5 Pro or M5 Max)", ["Mac17,6", "Mac17,8"]),
        ("iMac (2017)", ["iMac18,1", "iMac18,2", "iMac18,3"]),
        ("iMac Pro", ["iMacPro1,1"]),
        ("iMac (27-inch, 2019)", ["iMac19,1"]),
        ("iMac (21.5-inch, 2019)", ["iMac19,2"]),
        ("iMac (27-inch, 2020)", ["iMac20,1", "iMac20,2"]),
        ("iMac (24-inch, M1, 2021)", ["iMac21,1", "iMac21,2"]),
        ("iMac (24-inch, 2023)", ["Mac15,4", "Mac15,5"]),
        ("iMac (24-inch, 2024)", ["Mac16,2", "Mac16,3"]),
        ("Mac mini (2018)", ["Macmini8,1"]),
        ("Mac mini (M1, 2020)", ["Macmini9,1"]),
        ("Mac mini (2023)", ["Mac14,3", "Mac14,12"]),
        ("Mac mini (2024)", ["Mac16,10", "Mac16,11"]),
        ("Mac Studio (2022)", ["Mac13,1", "Mac13,2"]),
        ("Mac Studio (2023)", ["Mac14,13", "Mac14,14"]),
        ("Mac Studio (2025)", ["Mac15,14", "Mac16,9"]),
        ("Mac Pro (2019)", ["MacPro7,1"]),
        ("Mac Pro (2023)", ["Mac14,8"]),
    ]
}

extension SessionDevice {
    /// The device in the user's list of sessions: the name that the app has given it, or the model's.
    package var title: String? { name ?? model.map(DeviceModel.name(of:)) }
}
