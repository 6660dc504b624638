@_exported import ModelTensors
