import Testing

/// Every order of the steps of ``FeedModel``.
@Suite struct FeedExplorationTests {
    /// - Returns: the number of states, and the first violation found.
    private func explore(_ flaw: FeedModel.Flaw?) -> (states: Int, violation: String?) {
        var known: Set<FeedModel> = [FeedModel(flaw: flaw)]
        var open = Array(known)
        while let model = open.popLast() {
            for next in model.successors where known.insert(next).inserted {
                if let violation = next.violation { return (known.count, violation) }
                open.append(next)
            }
        }
        return (known.count, nil)
    }

    @Test("Every interleaving: no reader misses an entry, and none starts over without a reason")
    func everyInterleaving() {
        let (states, violation) = explore(nil)
        #expect(violation == nil)
        #expect(states > 4_000)
    }

    @Test(arguments: FeedModel.Flaw.allCases) func theExplorationFinds(flaw: FeedModel.Flaw) {
        #expect(explore(flaw).violation != nil)
    }
}
