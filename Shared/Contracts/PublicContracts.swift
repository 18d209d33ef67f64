// The services use all contracts as one module.
@_exported public import GatehouseContracts
