// The services use all contracts as one module.
@_exported public import GatehouseContracts

// A push's payload.
@_exported public import enum GatehouseBytes.JSONValue
@_exported public import struct GatehouseBytes.VerbatimString
