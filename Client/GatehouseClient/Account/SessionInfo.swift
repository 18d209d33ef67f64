public import Contracts

/// A signed-in device as its user sees it. (The contract calls it a session; here that is ``Session``, the actor.)
public typealias SessionInfo = Contracts.Session
