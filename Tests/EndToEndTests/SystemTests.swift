import Testing

/// The tests that share one running system.
@Suite(.gatehouse()) enum SystemTests {}
