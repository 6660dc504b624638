import ModelGraph
import ModelSpec
import ModelTensors
import Testing

@testable import ModelInspection

@Suite struct NeuralNetworkTests {
  /// A network with one inner product of 2 outputs and 3 inputs and these weights.
  private func model(_ weights: Wire, custom: Bool = false) throws -> Model {
    let network = Wire.message {
      $0.add(
        1,
        Wire.message {
          $0.add(1, "dense")
          $0.add(
            140,
            Wire.message {
              $0.add(1, 3)
              $0.add(2, 2)
              $0.add(20, weights)
            })
        })
      if custom {
        $0.add(
          1,
          Wire.message {
            $0.add(1, "own")
            $0.add(500, Wire.message { $0.add(10, "OwnLayer") })
          })
      }
    }
    let bytes = Wire.message {
      $0.add(1, 3)
      $0.add(500, network)
    }.bytes
    return try bytes.withUnsafeBytes {
      try ModelDecoder(weights: UnopenedWeights()).decode($0, path: "model")
    }
  }

  private func values(_ weights: Wire) throws -> (WeightFact, [Float]) {
    let catalog = WeightCatalog(try model(weights))
    let entry = try #require(catalog.entry(named: "dense.weights"))
    return (entry.fact, try catalog.source(of: entry).elements(as: Float.self))
  }

  @Test func singlesAndHalves() throws {
    let (single, singles) = try values(
      Wire.message { $0.add(1, packed: [Float](arrayLiteral: 1, 2, 3, 4, 5, 6)) })
    #expect(single.encoding == "fp32")
    #expect(single.shape == [2, 3])
    #expect(singles == [1, 2, 3, 4, 5, 6])
    let (half, halves) = try values(
      Wire.message { $0.add(2, packed: [UInt16](repeating: 0x3C00, count: 6)) })
    #expect(half.encoding == "fp16")
    #expect(half.storedBytes == 12)
    #expect(half.bitsPerParameter == 16)
    #expect(halves == [Float](repeating: 1, count: 6))
  }

  @Test func linearCodesStartAtTheHighestBit() throws {
    // Six codes of 3 bits: 0 1 2 3 4 5, then padding.
    let (fact, decoded) = try values(
      Wire.message {
        $0.add(30, [0b000_001_01, 0b0_011_100_1, 0b01_000000])
        $0.add(
          40,
          Wire.message {
            $0.add(1, 3)
            $0.add(
              101,
              Wire.message {
                $0.add(1, packed: [Float](arrayLiteral: 1, 10))
                $0.add(2, packed: [Float](arrayLiteral: 0, -5))
              })
          })
      })
    #expect(fact.encoding == "linear3")
    #expect(fact.parameters == 6)
    #expect(decoded == [0, 1, 2, 25, 35, 45])
  }

  @Test func codesBeyondTheTableAreRefused() throws {
    let weights = Wire.message {
      $0.add(30, [0, 1, 2, 3, 4, 5])
      $0.add(
        40,
        Wire.message {
          $0.add(1, 8)
          $0.add(102, Wire.message { $0.add(1, packed: [Float](arrayLiteral: 1, 2)) })
        })
    }
    #expect(throws: TensorError.self) { try values(weights) }
    let facts = try report(model(weights))
    #expect(facts.weights.first?.encoding == "lut8")
    #expect(facts.neededVersion == 3)
  }

  @Test func customLayersAndStorage() throws {
    let facts = try report(
      model(
        Wire.message { $0.add(1, packed: [Float](repeating: 0, count: 6)) }, custom: true))
    #expect(facts.functions.first?.operationCount == 2)
    #expect(facts.details["custom_layers"]?.list?.first?["class_name"]?.text == "OwnLayer")
    #expect(facts.details["weight_storage"]?["fp32"]?["values"]?.integer == 6)
    #expect(facts.versionReasons.map(\.version) == [2])
    #expect(facts.findings.contains("needs code in the application: OwnLayer"))
    #expect(
      facts.weights.first?.consumers == [
        .init(function: "main", operation: "dense", type: "innerProduct", input: "weights")
      ])
  }
}
