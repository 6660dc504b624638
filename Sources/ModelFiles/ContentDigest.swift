import CCrypto

/// SHA-256 (FIPS 180-4) of bytes that come piece by piece, by libcrypto.
public struct ContentDigest: ~Copyable {
  private let context: OpaquePointer

  /// The digest of nothing yet.
  public init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      preconditionFailure("libcrypto has no memory for a SHA-256 context")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Takes in the next bytes.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    if let start = bytes.baseAddress { EVP_DigestUpdate(context, start, bytes.count) }
  }

  /// Takes in the bytes of an array.
  public mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// The 32 bytes of the digest of everything taken in so far.
  public var bytes: [UInt8] {
    let copy = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(copy) }
    EVP_MD_CTX_copy_ex(copy, context)
    return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      EVP_DigestFinal_ex(copy, buffer.baseAddress, nil)
      count = 32
    }
  }

  /// The digest in lower-case hexadecimal.
  public var hexadecimal: String { ContentDigest.hexadecimal(bytes) }

  static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
