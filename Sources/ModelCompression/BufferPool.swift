import Synchronization

/// Memory that pieces of work use one after the other.
final class BufferPool: Sendable {
  private let size: Int
  private let free = Mutex<[Address]>([])

  private struct Address: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
  }

  /// - Parameter size: Bytes of each buffer.
  init(size: Int) { self.size = max(size, 64) }

  deinit {
    free.withLock { buffers in
      for buffer in buffers { buffer.pointer.deallocate() }
    }
  }

  /// Calls `body` with a buffer that nobody else uses meanwhile.
  func withBuffer<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R {
    let buffer =
      free.withLock { $0.popLast() }
      ?? Address(pointer: .allocate(byteCount: size, alignment: 64))
    defer { free.withLock { $0.append(buffer) } }
    return try body(UnsafeMutableRawBufferPointer(start: buffer.pointer, count: size))
  }
}

/// Objects that pieces of work use one after the other.
final class ObjectPool<Object: Sendable>: Sendable {
  private let free = Mutex<[Object]>([])
  private let make: @Sendable () -> Object

  init(_ make: @escaping @Sendable () -> Object) { self.make = make }

  /// Calls `body` with an object that nobody else uses meanwhile.
  func with<R>(_ body: (Object) throws -> R) rethrows -> R {
    let object = free.withLock { $0.popLast() } ?? make()
    defer { free.withLock { $0.append(object) } }
    return try body(object)
  }
}

/// A pointer that threads share, each writing its own part.
struct SharedPointer<T>: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<T>

  init(_ pointer: UnsafeMutablePointer<T>) { self.pointer = pointer }
}

/// Fills `count` elements by `body`, which several threads may call for different parts.
func filledArray<T>(
  repeating value: T, count: Int, _ body: (SharedPointer<T>) throws -> Void
) rethrows -> [T] {
  var array = [T](repeating: value, count: count)
  try array.withUnsafeMutableBufferPointer { buffer in
    if let base = buffer.baseAddress { try body(SharedPointer(base)) }
  }
  return array
}
