/// Two worlds are equal if the same can follow from both.
extension RotationModel: Hashable {
    static func == (left: Self, right: Self) -> Bool {
        left.row == right.row && left.held == right.held && left.requests == right.requests
            && left.lateRun == right.lateRun && left.cameLate == right.cameLate
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(row)
        hasher.combine(held)
        hasher.combine(requests)
    }

    /// Requests are compared as a set: they may take their steps in any order, whichever came first.
    mutating func sort() {
        requests.sort { $0.rank < $1.rank }
    }

    /// Leaves out what makes no difference to what can follow; sorts.
    mutating func simplify() {
        guard let row else { return requests = [] }
        for index in requests.indices { requests[index].simplify(row, rules.flaw) }
        if requests.contains(where: \.isAbandoned) { removeDuplicates(row) }
        // All tokens before the predecessor count as one, so that the numbers stay small.
        let excess = row.current - 2
        if excess > 0 { renumber { max($0 - excess, 0) } }
        sort()
    }

    private mutating func removeDuplicates(_ row: Row) {
        // The client does not wait for the answer, and the request has nothing else left to do.
        requests.removeAll { $0.isAbandoned && $0.isAnswered }
        // Such tokens are all answered alike, so one request with one stands for many.
        let older = requests.filter { $0.isAbandoned && $0.token < row.current - 1 }
        guard older.count > 1 else { return }
        requests.removeAll(where: older.contains)
        requests.append(contentsOf: Set(older))
    }

    private mutating func renumber(_ number: (Token) -> Token) {
        row?.current = 2
        row?.previous = 1
        held = number(held)
        for index in requests.indices {
            requests[index].token = number(requests[index].token)
            switch requests[index].step {
            case .count(let current): requests[index].step = .count(current: number(current))
            case .revoke(let current): requests[index].step = .revoke(current: number(current))
            case .answer(let token): requests[index].step = .answer(number(token))
            case .update, .read: break
            }
        }
    }
}

extension RotationModel.Request {
    /// Whether nothing is left to do but to send the answer.
    var isAnswered: Bool {
        if case .answer = step { true } else { false }
    }

    fileprivate mutating func simplify(_ row: RotationModel.Row, _ flaw: FlawedRules.Flaw?) {
        switch step {
        // The write's condition can never hold again, so it only leads to another read. (This is why no wrong answer of
        // the race lock matters: the first step is the one or the other, as the token is current or not.)
        case .update where token != row.current && flaw != .updatesUnconditionally: step = .read
        case .count(let current) where current != row.current || row.lateReplayed: step = .read
        case .revoke(let current) where current != row.current: step = .read
        // And that read only to the UPDATE.
        case .read where token == row.current: step = .update
        default: break
        }
        // All that came before the last rotation is older than that, and stays so.
        age = min(age, max(row.sinceRotation, 0))
    }

    fileprivate var rank: Int {
        let step =
            switch step {
            case .update: 0
            case .read: 1
            case .count(let current): 2 + 3 * Int(current)
            case .revoke(let current): 3 + 3 * Int(current)
            case .answer(let token): 4 + 3 * Int(token)
            }
        return ((age * 16 + step) * 4 + Int(token)) * 2 + (isAbandoned ? 1 : 0)
    }
}
