@_exported import ModelCompression
@_exported import ModelFiles
@_exported import ModelGraph
@_exported import ModelInspection
@_exported import ModelOperations
@_exported import ModelPasses
@_exported import ModelSpec
@_exported import ModelTensors
