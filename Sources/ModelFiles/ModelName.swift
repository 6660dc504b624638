/// Names that follow from the path of a model.
public enum ModelName {
  private static let endings = [".zip", ".pkg", ".mlpackage", ".mlmodel", ".mlmodelc"]

  /// The path without the endings of its form.
  public static func besides(_ path: String) -> String {
    var path = PathNames.trimmed(path)
    for ending in endings where PathNames.hasSuffix(path, ending) {
      let stem = path.dropLast(ending.count)
      if !stem.isEmpty && !stem.hasSuffix("/") { path = String(stem) }
    }
    return path
  }

  /// The model's name: the last part of ``besides(_:)``.
  public static func stem(of path: String) -> String { PathNames.last(besides(path)) }
}
