import ModelGraph
import Testing

@Suite struct NamedListTests {
  @Test func keepsOrder() {
    var list: NamedList<Int> = ["b": 1, "a": 2]
    list["c"] = 3
    list["b"] = 4
    #expect(list.keys == ["b", "a", "c"])
    #expect(list.values == [4, 2, 3])
  }

  @Test func settingNilRemoves() {
    var list: NamedList<Int> = ["a": 1, "b": 2]
    list["a"] = nil
    list["x"] = nil
    #expect(list.keys == ["b"])
    #expect(list["a"] == nil)
  }

  @Test func lastOfEqualKeysCounts() {
    let list = NamedList([(key: "a", value: 1), (key: "b", value: 2), (key: "a", value: 3)])
    #expect(list == ["a": 3, "b": 2])
    let raw = NamedList(uniqueEntries: [(key: "a", value: 1), (key: "a", value: 3)])
    #expect(raw["a"] == 3)
  }

  @Test func updatesEachValue() {
    var list: NamedList<Int> = ["a": 1, "b": 2]
    list.updateEach { key, value in value *= key == "a" ? 10 : 100 }
    #expect(list == ["a": 10, "b": 200])
  }

  @Test func equalityMindsOrder() {
    let list: NamedList<Int> = ["a": 1, "b": 2]
    #expect(list != ["b": 2, "a": 1])
    #expect(list.map(\.key) == ["a", "b"])
  }
}
