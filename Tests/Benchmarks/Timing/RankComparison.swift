import Foundation

/// Whether one of two lists of times tends to be longer (Mann and Whitney 1947).
struct RankComparison {
    /// How often a value of the second is above one of the first, of all pairs; ties count half. 0.5: neither tends to
    /// be. It is the area under the curve (AUC) of an attacker who tells the two apart by a threshold.
    let area: Double
    /// Half of its 95 % confidence interval (Hanley and McNeil 1982).
    let margin: Double

    init(_ first: [Double], _ second: [Double]) {
        let (n, m) = (Double(first.count), Double(second.count))
        let all = (first.map { ($0, false) } + second.map { ($0, true) }).sorted { $0.0 < $1.0 }
        var (rankSum, start) = (0.0, 0)
        while start < all.count {
            var end = start
            while end < all.count, all[end].0 == all[start].0 { end += 1 }
            // Equal values share the middle of their ranks, which count from 1.
            let rank = Double(start + end + 1) / 2
            rankSum += rank * Double(all[start..<end].count { $0.1 })
            start = end
        }
        let area = (rankSum - m * (m + 1) / 2) / (n * m)
        let (q1, q2) = (area / (2 - area), 2 * area * area / (1 + area))
        let variance =
            (area * (1 - area) + (m - 1) * (q1 - area * area) + (n - 1) * (q2 - area * area)) / (n * m)
        self.area = area
        margin = 1.96 * max(0, variance).squareRoot()
    }

    enum Verification: String {
        /// The whole interval is nearer to 0.5 than what is of use.
        case none = "no usable difference"
        /// 0.5 is not in the interval, and something in it is of use.
        case some = "DIFFERENCE"
        case open = "too few tries to say"
    }

    /// - Parameter usable: how far from 0.5 an area is that would be of use.
    func verdict(usable: Double) -> Verification {
        if abs(area - 0.5) + margin <= usable { return .none }
        return abs(area - 0.5) > margin ? .some : .open
    }
}
