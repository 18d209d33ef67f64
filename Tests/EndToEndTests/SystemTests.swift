import Testing

/// Tests that share one running system.
@Suite(.gatehouse(settings: SystemSettings.web)) enum SystemTests {}

/// Tests that stop parts of one running system, one test at a time.
@Suite(.gatehouse(), .serialized) enum FaultTests {}

/// Like ``FaultTests``, with timeouts as short as in production.
@Suite(.gatehouse(settings: SystemSettings.impatient()), .serialized) enum ImpatientFaultTests {}
