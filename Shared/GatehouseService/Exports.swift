// Everything that a team's own service needs, so that its package depends only on the product GatehouseService.
@_exported public import ArgumentParser
@_exported public import GatehouseLimits
@_exported public import GatehouseObservability
@_exported public import GatehouseServiceContracts
@_exported public import GatehouseServiceKit
@_exported public import GatehouseSettings
@_exported public import HTTPTypes
@_exported public import Hummingbird
@_exported public import HummingbirdCore
@_exported public import Logging
@_exported public import ServiceLifecycle
@_exported public import Tracing
