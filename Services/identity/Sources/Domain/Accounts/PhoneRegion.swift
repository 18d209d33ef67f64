import Foundation

/// The country whose national numbers are understood without a country code.
struct PhoneRegion: Sendable, Equatable {
    /// The country's calling code, 1 to 3 digits (ITU-T E.164).
    let callingCode: String

    init(callingCode: String) throws(Refusal) {
        let digits = callingCode.hasPrefix("+") ? callingCode.dropFirst() : callingCode[...]
        guard (1...3).contains(digits.count), digits.first != "0", digits.allSatisfy({ ("0"..."9").contains($0) })
        else {
            throw Refusal("A calling code has 1 to 3 digits, for example 49.")
        }
        self.callingCode = String(digits)
    }

    /// What is dialled before a country code: 011 in North America, 00 nearly everywhere else.
    var internationalPrefix: String {
        callingCode == "1" ? "011" : "00"
    }

    /// What is dialled before a national number and is no part of the international one. In Italy and San Marino the 0
    /// is part of it.
    private var trunkPrefix: String {
        switch callingCode {
        case "1": "1"
        case "7": "8"
        case "36": "06"
        case "39", "378", "379": ""
        default: "0"
        }
    }

    func international(_ national: String) -> String {
        let prefix = trunkPrefix
        let subscriber =
            !prefix.isEmpty && national.hasPrefix(prefix) ? national.dropFirst(prefix.count) : national[...]
        return callingCode + subscriber
    }
}
