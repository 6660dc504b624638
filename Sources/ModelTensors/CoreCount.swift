#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The number of processors on line.
func activeCoreCount() -> Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
