extension PhoneNumber {
    /// By which text messages are counted, so that nobody pumps them to the expensive numbers of one country: the
    /// country's calling code. Behind 1 stand a country and islands with tariffs of their own, so that the next three
    /// digits count as well.
    var destination: String {
        let digits = value.dropFirst()
        return String(digits.prefix(digits.first == "1" ? 4 : callingCode.count))
    }

    /// The country's calling code (ITU-T E.164, Annex A): 1 to 3 digits.
    var callingCode: String {
        let digits = value.dropFirst()
        if let first = digits.first, "17".contains(first) { return String(first) }
        let two = String(digits.prefix(2))
        return Self.twoDigits.contains(two) ? two : String(digits.prefix(3))
    }

    private static let twoDigits: Set<String> = [
        "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41", "43", "44", "45", "46", "47", "48", "49",
        "51", "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81", "82", "84",
        "86", "90", "91", "92", "93", "94", "95", "98",
    ]
}
