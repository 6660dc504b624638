import ModelPlan

/// A plan as a page that stands alone.
struct PlanPage {
  var plan: Plan
  var title: String
  var model: String

  var html: String { "" }
}
