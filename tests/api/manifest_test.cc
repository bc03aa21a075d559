// SPDX-License-Identifier: Apache-2.0
// Manifests: the forms they come in, what is ignored, what is reported, files and folders.
#include "berth/api/manifest.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

std::vector<std::string> Names(const Manifests& manifests) {
  std::vector<std::string> names;
  for (const Object& object : manifests.objects) names.push_back(object.ToString());
  return names;
}

std::vector<std::string> Lines(const Manifests& manifests) {
  std::vector<std::string> lines;
  for (const Problem& problem : manifests.problems) lines.push_back(problem.ToString());
  return lines;
}

TEST(ParseManifestTest, TheSameObjectsInEveryForm) {
  const absl::string_view forms[] = {
      // Several YAML documents.
      "apiVersion: v1\nkind: Node\nmetadata: {name: node}\n---\n"
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns}\n",
      // A list in YAML.
      "apiVersion: v1\nkind: List\nitems:\n"
      "- {apiVersion: v1, kind: Node, metadata: {name: node}}\n"
      "- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}}\n",
      // JSON lines.
      "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node\"}}\n"
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}}"
      "\n",
      // One after the other, in lines of their own.
      "{\n\"apiVersion\":\"v1\",\n\"kind\":\"Node\",\n\"metadata\":{\n\"name\":\"node\"}}"
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}}",
      // Typed lists, as the API server answers.
      "{\"apiVersion\":\"v1\",\"kind\":\"NodeList\",\"metadata\":{},\"items\":"
      "[{\"metadata\":{\"name\":\"node\"}}]}\n"
      "{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":"
      "[{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}}]}",
      // A list in a list.
      "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":"
      "\"List\","
      "\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node\"}}]},"
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"}}]"
      "}",
  };
  for (const absl::string_view form : forms) {
    const Manifests manifests = ParseManifest(form, "f");
    EXPECT_THAT(Lines(manifests), IsEmpty()) << form;
    EXPECT_THAT(Names(manifests), ElementsAre("Node node", "Pod ns/p")) << form;
  }
}

TEST(ParseManifestTest, NamespacesAndUids) {
  const Manifests manifests = ParseManifest(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}}\n---\n"
      "{apiVersion: v1, kind: Node, metadata: {name: node, namespace: odd}}\n",
      "f", {.default_namespace = "team"});
  ASSERT_THAT(Names(manifests), ElementsAre("Pod team/p", "Node node"));
  EXPECT_EQ(manifests.objects[0].As<api::Pod>().metadata().namespace_(), "team");
  EXPECT_EQ(manifests.objects[0].uid(), "u");
  EXPECT_EQ(manifests.objects[1].uid(), "Node/node");
  EXPECT_EQ(manifests.objects[1].where().ToString(), "f:3:1");
}

TEST(ParseManifestTest, PodGroupsOfBothGroups) {
  const Manifests manifests = ParseManifest(
      "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: a}, "
      "spec: {minMember: 3, minResources: {cpu: 1}}}\n---\n"
      "{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: PodGroup, metadata: {name: b}, "
      "spec: {minMember: 4}}\n",
      "f");
  ASSERT_THAT(Names(manifests), ElementsAre("PodGroup default/a", "PodGroup default/b"));
  EXPECT_EQ(manifests.objects[0].As<api::PodGroup>().spec().min_resources().at("cpu").string(),
            "1");
  EXPECT_EQ(manifests.objects[1].As<api::PodGroup>().spec().min_member(), 4);
}

// v1beta2 has the shape of v1.
TEST(ParseManifestTest, ResourceClaimsOfAllVersions) {
  const std::string v1 =
      "requests: [{name: r, exactly: {deviceClassName: c, count: 2, adminAccess: true, selectors: "
      "[{cel: {expression: 'true'}}]}}, {name: l, firstAvailable: [{name: s, deviceClassName: "
      "c}]}], config: [{opaque: {driver: d, parameters: {kind: P, n: [1, 2.5, null, yes]}}}]";
  const std::string beta =
      "requests: [{name: r, deviceClassName: c, count: 2, adminAccess: true, selectors: [{cel: "
      "{expression: 'true'}}]}, {name: l, firstAvailable: [{name: s, deviceClassName: c}]}], "
      "config: [{opaque: {driver: d, parameters: {kind: P, n: [1, 2.5, null, yes]}}}]";
  const auto claim = [](const std::string& version, const std::string& devices) {
    return absl::StrCat("{apiVersion: resource.k8s.io/", version,
                        ", kind: ResourceClaim, metadata: {name: ", version, "}, spec: {devices: {",
                        devices, "}}}\n---\n", "{apiVersion: resource.k8s.io/", version,
                        ", kind: ResourceClaimTemplate, metadata: {name: ", version,
                        "}, spec: {spec: {devices: {", devices, "}}}}\n---\n");
  };
  const Manifests manifests =
      ParseManifest(claim("v1", v1) + claim("v1beta2", v1) + claim("v1beta1", beta), "f");
  ASSERT_THAT(Lines(manifests), IsEmpty());
  ASSERT_EQ(manifests.objects.size(), 6u);
  const std::string want = ToJson(manifests.objects[0].As<api::ResourceClaim>().spec());
  EXPECT_THAT(want, HasSubstr(R"("exactly":{"deviceClassName":"c")"));
  EXPECT_THAT(want, HasSubstr(R"("parameters":{"kind":"P","n":[1,2.5,null,true]})"));
  for (const Object& object : manifests.objects) {
    EXPECT_EQ(ToJson(object.kind() == Kind::kResourceClaim
                         ? object.As<api::ResourceClaim>().spec()
                         : object.As<api::ResourceClaimTemplate>().spec().spec()),
              want)
        << object.ToString();
  }
}

TEST(ParseManifestTest, ResourceSlicesOfAllVersions) {
  const auto slice = [](const std::string& version, const std::string& device) {
    return absl::StrCat("{apiVersion: resource.k8s.io/", version,
                        ", kind: ResourceSlice, metadata: {name: ", version,
                        "}, spec: {driver: d, nodeName: node, pool: {name: p, resourceSliceCount: "
                        "1}, devices: [{name: "
                        "x, ",
                        device, "}]}}\n---\n");
  };
  const std::string fields =
      "attributes: {a: {int: 1}, b: {bool: true}, c: {string: s}, d: {version: 1.0.0}}, capacity: "
      "{memory: {value: 40Gi}}";
  const Manifests manifests = ParseManifest(
      slice("v1", fields) + slice("v1beta2", fields) + slice("v1beta1", "basic: {" + fields + "}"),
      "f");
  ASSERT_THAT(Lines(manifests), IsEmpty());
  ASSERT_EQ(manifests.objects.size(), 3u);
  for (const Object& object : manifests.objects) {
    EXPECT_EQ(ToJson(object.As<api::ResourceSlice>().spec().devices(0)),
              R"({"name":"x","attributes":{"a":{"int":1},"b":{"bool":true},"c":{"string":"s"},)"
              R"("d":{"version":"1.0.0"}},"capacity":{"memory":{"value":"40Gi"}}})")
        << object.ToString();
  }
}

TEST(ParseManifestTest, OtherKindsAreCounted) {
  const Manifests manifests = ParseManifest(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n"
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n---\n"
      "{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: c}}\n",
      "f");
  EXPECT_THAT(Lines(manifests), IsEmpty());
  EXPECT_THAT(manifests.ignored_kinds,
              ElementsAre(Pair("serving.knative.dev/v1 Service", 1), Pair("v1 ConfigMap", 2)));
}

TEST(ParseManifestTest, ABadObjectIsReportedAndTheOthersAreRead) {
  const Manifests manifests = ParseManifest(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n"
      "  - resources: {requests: {cpu: 1x}}\n---\n"
      "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n",
      "x.yaml");
  EXPECT_THAT(Names(manifests), ElementsAre("Pod default/b"));
  EXPECT_THAT(Lines(manifests),
              ElementsAre(StartsWith("x.yaml:6:33: error: Pod default/a: "
                                     "spec.containers[0].resources.requests.cpu: \"1x\" is not a "
                                     "quantity (")));
}

TEST(ParseManifestTest, Reports) {
  const struct {
    absl::string_view text, want;
  } cases[] = {
      {"hello", "f:1:1: error: expected an object, found a string"},
      {"- 1", "f:1:1: error: expected an object, found a list"},
      {"kind: Pod", "f:1:1: error: apiVersion: is missing"},
      {"apiVersion: v1", "f:1:1: error: kind: is missing"},
      {"{apiVersion: v1, kind: 5}", "f:1:1: error: kind: is missing"},
      {"{apiVersion: v1, kind: Pod}", "f:1:1: error: Pod: metadata.name: is missing"},
      {"{apiVersion: v1, kind: Pod, metadata: {labels: {a: b}}}",
       "f:1:39: error: Pod: metadata.name: is missing"},
      {"{apiVersion: v1, kind: Pod, metadata: {name: a/b}}",
       "f:1:46: error: Pod default/a/b: metadata.name: \"a/b\" contains a slash"},
      {"{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b/c}}",
       "f:1:60: error: Pod b/c/a: metadata.namespace: \"b/c\" contains a slash"},
      {"{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: a}}",
       "f:1:14: error: PodDisruptionBudget a: apiVersion: policy/v1beta1 is not read; write it as "
       "policy/v1"},
      {"{apiVersion: extensions/v1beta1, kind: ReplicaSet}",
       "f:1:14: error: ReplicaSet: apiVersion: extensions/v1beta1 is not read; write it as "
       "apps/v1"},
      {"{apiVersion: v1, kind: List, items: {}}",
       "f:1:37: error: List: items: is a map, not a list"},
      {"{apiVersion: v1, kind: List, items: [3]}",
       "f:1:38: error: expected an object, found a number"},
      {"{apiVersion: v1, kind: Node, metadata: {name: a}}\n---\n"
       "{apiVersion: v1, kind: Node, metadata: {name: a}}",
       "f:3:1: error: Node a: is there a second time; first at f:1:1"},
      {"{apiVersion: v1, kind: Pod, metadata: {name: p}}\n---\n"
       "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priorityClassName: high}}",
       "f:3:1: error: Pod default/p: is there a second time; first at f:1:1"},
      {"{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}}\n---\n"
       "{apiVersion: v1, kind: Node, metadata: {name: b, uid: u}}",
       "f:3:1: error: Node b: metadata.uid: is that of Pod default/p, too; first at f:1:1"},
      {"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: a, nodeName: b}}",
       "f:1:70: error: Pod default/p: spec.nodeName: appears a second time; first in line 1"},
      {"{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a.b/c: x, a.b/c: x}}}",
       "f:1:68: error: Pod default/p: metadata.labels[\"a.b/c\"]: appears a second time; first in "
       "line 1"},
      // What is not read as a whole.
      {"{apiVersion: v1, kind: Node, metadata: {name: a}, metadata: {name: b}}",
       "f:1:51: error: Node b: metadata: appears a second time; first in line 1"},
      {"{apiVersion: v1, kind: List, items: [], items: []}",
       "f:1:41: error: List: items: appears a second time; first in line 1"},
      {"{apiVersion: v1, kind: ConfigMap, data: {}, data: {}}",
       "f:1:45: error: ConfigMap: data: appears a second time; first in line 1"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Lines(ParseManifest(c.text, "f")), ElementsAre(c.want)) << c.text;
  }
}

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string Write(const std::string& file, absl::string_view text) {
    const std::filesystem::path path = path_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string Node(absl::string_view name) {
  return "{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"" +
         std::string(name) + "\"}}\n";
}

TEST(ReadManifestsTest, FoldersInTheOrderOfTheirPaths) {
  Folder folder;
  folder.Write("b.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: b}\n");
  folder.Write("a/z.json", Node("z"));
  folder.Write("a/c.jsonl", Node("c1") + Node("c2"));
  folder.Write("d.yml", Node("d"));
  folder.Write("README.md", "not a manifest");
  const std::string last = folder.Write("other.txt", Node("named"));
  const Manifests manifests = ReadManifests({folder.path(), last});
  EXPECT_THAT(Lines(manifests), IsEmpty());
  EXPECT_THAT(Names(manifests),
              ElementsAre("Node c1", "Node c2", "Node z", "Node b", "Node d", "Node named"));
}

TEST(ReadManifestsTest, WhatCannotBeReadIsAProblem) {
  Folder folder;
  const std::string empty_file = folder.Write("x/empty.yaml", "");
  const Manifests manifests = ReadManifests({folder.path() + "/missing", empty_file});
  EXPECT_THAT(Lines(manifests),
              ElementsAre(folder.path() + "/missing: error: No such file or directory"));
  Folder empty;
  const Manifests nothing = ReadManifests({empty.path()});
  EXPECT_TRUE(nothing.problems.ok());
  EXPECT_THAT(Lines(nothing), ElementsAre(HasSubstr("warning: no *.yaml")));
}

// Quadratic work on many keys would take hours.
TEST(ReadManifestsTest, ManyKeysAreCompared) {
  std::string labels;
  for (int i = 0; i < 200'000; ++i) absl::StrAppend(&labels, "\"k", i, "\":\"\",");
  const Manifests manifests = ParseManifest(
      absl::StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{)", labels,
                   R"("k7":""}}})"),
      "f");
  EXPECT_THAT(Lines(manifests),
              ElementsAre(HasSubstr("metadata.labels.k7: appears a second time")));
}

TEST(ReadManifestsTest, TheSameObjectInTwoFiles) {
  Folder folder;
  folder.Write("a.json", Node("n"));
  folder.Write("b.json", Node("n"));
  EXPECT_THAT(Lines(ReadManifests({folder.path()})),
              ElementsAre(folder.path() +
                          "/b.json:1:1: error: Node n: is there a second time; "
                          "first at " +
                          folder.path() + "/a.json:1:1"));
}

// What is read of `text` survives being printed as JSON and read again.
void ExpectRoundTrip(absl::string_view text) {
  const Manifests manifests = ParseManifest(text, "f");
  std::string lines;
  for (const Object& object : manifests.objects) lines += ToJson(object.message()) + "\n";
  const Manifests again = ParseManifest(lines, "again");
  // A warning, of a class that is not there, may come again.
  ASSERT_TRUE(again.problems.ok()) << again.problems.ToString() << text << "\n" << lines;
  ASSERT_EQ(Names(again), Names(manifests)) << text;
  for (size_t i = 0; i < again.objects.size(); ++i) {
    ASSERT_EQ(ToJson(again.objects[i].message()), ToJson(manifests.objects[i].message()));
  }
}

TEST(ParseManifestTest, EveryPrefixAndEveryByteReplacedIsRead) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/manifest")) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (size_t size = 0; size <= text.size(); ++size) {
      ASSERT_NO_FATAL_FAILURE(ExpectRoundTrip(absl::string_view(text).substr(0, size)));
    }
    for (size_t at = 0; at < text.size(); ++at) {
      std::string changed = text;
      changed[at] = "]}[{:-,\"'&*\n \x80"[at % 14];
      ASSERT_NO_FATAL_FAILURE(ExpectRoundTrip(changed));
    }
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(ReadManifestsTest, ConformanceClusters) {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/conformance/cases")) {
    const std::string file = (entry.path() / "cluster.yaml").string();
    const Manifests manifests = ReadManifests({file});
    EXPECT_THAT(Lines(manifests), IsEmpty());
    EXPECT_FALSE(manifests.objects.empty()) << file;
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

TEST(Problems, ListTheFirstThousandOfASortAndCountTheRest) {
  Problems problems;
  for (int i = 0; i < 1500; ++i) problems.AddError({}, "", absl::StrCat("e", i));
  problems.AddWarning({}, "", "w");
  Problems more;
  for (int i = 0; i < 1200; ++i) more.AddWarning({}, "", "x");
  problems.Append(std::move(more));
  EXPECT_EQ(problems.errors(), 1500);
  EXPECT_EQ(problems.warnings(), 1201);
  EXPECT_EQ(problems.size(), 2000u);
  EXPECT_EQ(problems.unlisted(), 701);
  EXPECT_THAT(problems.ToString(), ::testing::StartsWith("error: e0\nerror: e1\n"));
  EXPECT_THAT(problems.ToString(), ::testing::EndsWith("warning: x\nand 701 more\n"));
}

}  // namespace
}  // namespace berth
