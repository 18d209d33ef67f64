import Contracts
import ServiceKit

/// At each attempt somebody else changed the same rows first. The client may repeat its request.
struct StoreConflict: ProblemConvertible {
    var problem: Problem { Problem(.unavailable) }
}
