import CKernels

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The instruction set that the numeric kernels use; all give the same bits.
public enum KernelLevel: Int32, Sendable, CaseIterable, Comparable {
  /// The compiler's default target.
  case baseline = 0
  /// x86-64-v3: AVX2 and F16C.
  case v3 = 1
  /// x86-64-v4: AVX-512.
  case v4 = 2

  /// The levels that this processor runs, lowest first.
  public static let available: [KernelLevel] = allCases.filter {
    $0.rawValue <= mlt_kernel_level_available()
  }

  /// The highest level available, or the lower one that the environment variable `MLT_KERNELS`
  /// names (`baseline`, `v3`, `v4`).
  public static let current: KernelLevel = {
    let best = available.last ?? .baseline
    guard let text = getenv("MLT_KERNELS") else { return best }
    let name = String(cString: text)
    return available.first { "\($0)" == name } ?? best
  }()

  /// Whether `first` is the smaller instruction set.
  public static func < (first: KernelLevel, second: KernelLevel) -> Bool {
    first.rawValue < second.rawValue
  }
}
