/// Functions on tensor shapes: arrays of non-negative sizes, row-major, rank 0 for a scalar.
public enum Shape {
  /// The product of the sizes, or nil when one is negative or the product overflows.
  public static func elementCount(_ shape: [Int]) -> Int? {
    var count = 1
    for size in shape {
      if size < 0 { return nil }
      let (product, overflow) = count.multipliedReportingOverflow(by: size)
      if overflow { return nil }
      count = product
    }
    return count
  }

  /// Row-major strides, in elements.
  public static func strides(_ shape: [Int]) -> [Int] {
    var strides = [Int](repeating: 1, count: shape.count)
    var stride = 1
    for axis in shape.indices.reversed() {
      strides[axis] = stride
      stride &*= max(shape[axis], 1)
    }
    return strides
  }

  /// The axis counted from the front, or nil when it is outside the rank.
  public static func normalized(axis: Int, rank: Int) -> Int? {
    let positive = axis < 0 ? axis + rank : axis
    return positive >= 0 && positive < rank ? positive : nil
  }
}
