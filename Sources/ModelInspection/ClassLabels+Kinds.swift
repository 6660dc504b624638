import CModelSchemas
import ModelGraph
import ModelSpec

// Where each message keeps its labels.

extension CoreML__Specification__NeuralNetworkClassifier {
  var labels: ClassLabels? {
    ClassLabels(
      strings: class_labels_case.rawValue == 100 ? stringclasslabels : nil,
      numbers: class_labels_case.rawValue == 101 ? int64classlabels : nil)
  }
}

extension CoreML__Specification__TreeEnsembleClassifier {
  var labels: ClassLabels? {
    ClassLabels(
      strings: class_labels_case.rawValue == 100 ? stringclasslabels : nil,
      numbers: class_labels_case.rawValue == 101 ? int64classlabels : nil)
  }
}

extension CoreML__Specification__GLMClassifier {
  var labels: ClassLabels? {
    ClassLabels(
      strings: class_labels_case.rawValue == 100 ? stringclasslabels : nil,
      numbers: class_labels_case.rawValue == 101 ? int64classlabels : nil)
  }
}

extension CoreML__Specification__SupportVectorClassifier {
  var labels: ClassLabels? {
    ClassLabels(
      strings: class_labels_case.rawValue == 100 ? stringclasslabels : nil,
      numbers: class_labels_case.rawValue == 101 ? int64classlabels : nil)
  }
}

extension CoreML__Specification__KNearestNeighborsClassifier {
  /// The classes among the labels of the points.
  var labels: ClassLabels? {
    ClassLabels(
      strings: class_labels_case.rawValue == 100 ? stringclasslabels : nil,
      numbers: class_labels_case.rawValue == 101 ? int64classlabels : nil)?.distinct
  }
}

extension CoreML__Specification__NonMaximumSuppression {
  var labels: ClassLabels? {
    ClassLabels(
      strings: class_labels_case.rawValue == 100 ? stringclasslabels : nil,
      numbers: class_labels_case.rawValue == 101 ? int64classlabels : nil)
  }
}

extension CoreML__Specification__CoreMLModels__TextClassifier {
  var labels: ClassLabels? {
    ClassLabels(strings: class_labels_case.rawValue == 200 ? stringclasslabels : nil)
  }
}

extension CoreML__Specification__CoreMLModels__Gazetteer {
  var labels: ClassLabels? {
    ClassLabels(strings: class_labels_case.rawValue == 200 ? stringclasslabels : nil)
  }
}

extension OpaqueModel {
  /// The labels of a classifier or detector, or nil for another kind.
  var classLabels: ClassLabels? {
    get throws {
      switch typeName {
      case "treeEnsembleClassifier":
        try withMessage(as: CoreML__Specification__TreeEnsembleClassifier.self) {
          $0.pointee.labels
        }
      case "glmClassifier":
        try withMessage(as: CoreML__Specification__GLMClassifier.self) { $0.pointee.labels }
      case "supportVectorClassifier":
        try withMessage(as: CoreML__Specification__SupportVectorClassifier.self) {
          $0.pointee.labels
        }
      case "kNearestNeighborsClassifier":
        try withMessage(as: CoreML__Specification__KNearestNeighborsClassifier.self) {
          $0.pointee.labels
        }
      case "nonMaximumSuppression":
        try withMessage(as: CoreML__Specification__NonMaximumSuppression.self) {
          $0.pointee.labels
        }
      case "textClassifier":
        try withMessage(as: CoreML__Specification__CoreMLModels__TextClassifier.self) {
          $0.pointee.labels
        }
      case "gazetteer":
        try withMessage(as: CoreML__Specification__CoreMLModels__Gazetteer.self) {
          $0.pointee.labels
        }
      default: nil
      }
    }
  }
}
