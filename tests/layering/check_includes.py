#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: api <- values <- table <- framework <- plugins, framework <- evaluation, preemption <- engine;
and that files begin alike: with their licence, and headers with a guard made of their path. YAML files of the project have
their licence too; those that stand for what others write (examples/manifests, cases, corpora) have none.

    check_includes.py [ROOT]

A layer is a folder; below stands what its files may include of this tree, itself always allowed.
"""
import glob
import os
import re
import sys

PUBLIC_BASE = ["berth/version.h", "berth/check.h", "berth/clock.h", "berth/mutex.h"]
API = PUBLIC_BASE + ["berth/api/"]
# The three tiers of what a plugin includes: meaning, columns, what may be reused. To the first belong what few plugins
# are beside it: what Handle has, PriorityPreemptionRules, and interfaces that kube-scheduler has not.
MEANING = API + ["berth/framework/", "berth/config/", "berth/handle/", "berth/preemption/", "berth/extensions/", "berth/executor.h"]
COLUMNS = MEANING + ["berth/columns/"]
PUBLIC = COLUMNS + ["berth/incremental/"]
FRONT_DOOR = PUBLIC + ["berth/cluster.h", "berth/configuration.h", "berth/scheduler.h"]
# What src/ shares below its modules and installs nothing of: what compilers and processors need to be told.
MACHINE = ["simd/", "api/prefetch.h"]
RUNTIME = PUBLIC + MACHINE + ["values/", "table/", "metrics/", "framework/"]
STATE = RUNTIME + ["berth/cluster.h", "cache/", "queue/", "group/"]

# Folder: what its files may include. The longest matching folder counts.
MAY_INCLUDE = {
    "include/berth/": FRONT_DOOR + ["berth/"],
    "include/berth/api/": API,
    "include/berth/framework/": MEANING,
    "include/berth/config/": MEANING,
    "include/berth/handle/": MEANING,
    "include/berth/preemption/": MEANING,
    "include/berth/extensions/": MEANING,
    "include/berth/columns/": COLUMNS,
    "include/berth/incremental/": PUBLIC,
    "include/berth/gpu/": API,
    "include/berth/quota/": MEANING + ["berth/devices/"],  # which devices lines count
    "src/api/": API,
    "src/values/": MEANING,
    "src/simd/": [],
    "src/table/": COLUMNS + MACHINE + ["values/"],
    "src/config/arguments/": API + ["berth/framework/args.h", "berth/config/field_type.h", "api/duplicate_keys.h", "api/near_miss.h"],
    "src/metrics/": API + ["berth/handle/counter.h"],
    "src/framework/": PUBLIC + MACHINE + ["api/near_miss.h", "table/", "metrics/"],
    "src/config/": FRONT_DOOR + ["api/input_file.h", "api/near_miss.h", "framework/"],
    "src/config/reference/": FRONT_DOOR + ["berth/builtin_plugins.h"],  # writes the reference page
    "src/cache/": RUNTIME,
    "src/queue/": RUNTIME,
    "src/group/": RUNTIME,
    "src/evaluation/": RUNTIME,
    "src/disruption/": RUNTIME,
    # quota_line.h counts GPUs of any vendor, whole and in part.
    "src/preemption/": RUNTIME + ["berth/quota/quota_line.h", "disruption/", "group/"],
    "src/search/": RUNTIME,
    "src/engine/": STATE + ["api/group_marks.h", "berth/configuration.h", "berth/scheduler.h", "disruption/", "evaluation/",
                            "search/"],
    "src/cluster/": FRONT_DOOR
    + ["api/prefetch.h", "framework/", "berth/in_memory_cluster.h", "berth/cluster_faults.h", "table/label_index.h"],
    "src/kubernetes/": FRONT_DOOR + ["api/input_file.h", "api/json.h", "api/message_json.h", "api/object_meta.h", "berth/kubernetes_cluster.h"],
    "src/extender/": FRONT_DOOR + ["api/json.h", "api/message_json.h", "berth/http_extender.h", "kubernetes/"],
    "src/process/": FRONT_DOOR + ["api/input_file.h", "api/json.h", "berth/kubernetes_cluster.h", "berth/http_extender.h", "kubernetes/", "metrics/", "config/configuration_file.h"],
    "src/remote/wire/": API,
    "src/remote/": PUBLIC + ["berth/remote_plugins.h", "berth/executor.h", "remote/"],
    "src/serve/": FRONT_DOOR
    + ["berth/cluster_server.h", "berth/quota/", "berth/remote_plugins.h", "api/object_meta.h", "cluster/object_parts.h", "cluster/resource_claim_controller.h", "engine/",
       "devices/admin_access_of_objects.h", "devices/pools_of_objects.h", "devices/references_of_objects.h", "devices/selectors_of_objects.h", "quota/quotas_of_objects.h",
       "remote/wire/"],
    "src/import/": API + ["berth/quota/quota_line.h", "api/duplicate_keys.h", "api/json.h"],
    "src/app/": FRONT_DOOR + ["berth/", "api/group_marks.h", "api/input_file.h", "api/json.h", "api/near_miss.h", "import/", "config/", "devices/admin_access_of_objects.h", "devices/pools_of_objects.h", "devices/references_of_objects.h", "devices/selectors_of_objects.h", "engine/", "cluster/", "cache/", "framework/", "process/", "quota/", "trace/"],
    "src/trace/": FRONT_DOOR + ["api/input_file.h", "berth/gpu/", "berth/simulation.h"],
    "src/simulation/": FRONT_DOOR + ["berth/in_memory_cluster.h", "berth/simulation.h", "simulation/"],
    "src/testing/": FRONT_DOOR + ["api/input_file.h", "berth/testing/", "berth/simulation.h", "berth/in_memory_cluster.h"],
    "src/cel/": API,
    "include/berth/devices/": API,
    "src/devices/": API + ["berth/devices/", "api/near_miss.h", "api/object_meta.h", "cel/"],
    "src/gpu/": API + ["berth/gpu/"],
    "src/quota/": MEANING + ["berth/quota/", "berth/gpu/", "berth/devices/"],
    # And its own folder; builtin.cc all of them. src/simd/ has nothing of Berth's: what it says to a compiler you can say, too.
    "plugins/": PUBLIC + ["berth/gpu/", "berth/devices/", "berth/quota/", "src/simd/"],
    "plugins/dynamic_resources/": PUBLIC + ["berth/devices/", "berth/cluster.h"],  # for what Handle::PatchPodStatus() takes
}
# And what no file may include but those below the prefixes behind it: the full evaluator stands without the
# incremental one, of which the engine sees the evaluator and none of the caches.
INSIDE = {
    "evaluation/incremental/": ["src/evaluation/incremental/"],
    "preemption/pruning/": ["src/preemption/pruning/"],
}
EXPORTED = ["evaluation/incremental/incremental_evaluator.h", "preemption/pruning/pruned_search.h"]
# How many headers of ours a program includes, itself and through them: the price of a first plugin.
MOST_HEADERS = {"examples/filter_plugin/main.cc": 20}
# How many headers a folder has that a newcomer reads whole.
MOST_FILES = {"include/berth/framework": 20}
# Nobody but their own users should have to know these.
HEAVY = re.compile(r"^(yaml-cpp|rapidjson|CLI|utf8|curl|openssl|boost|spdlog|prometheus|google/protobuf|grpc|grpcpp|re2)/|\.pb\.h$|^utf8\.h$")
# Spelled otherwise in this tree, and why.
WORDS = {
    "std::string_view": "absl::string_view: Abseil's type differs from the standard one on some platforms",
    "absl::Mutex": "berth::Mutex: see berth/mutex.h",
}
LICENCE = "// SPDX-License-Identifier: Apache-2.0"
YAML = (".github/**/*.yml", "config/**/*.yaml", "bench/**/*.yaml", "examples/*.yaml", "examples/*_plugin/**/*.yaml",
        "examples/configurations/*.yaml", "tests/scenarios/*.yaml", "tests/cluster/**/*.yaml")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)')


def files(root):
    for top in ("include", "src", "plugins"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def own_module(path):
    """The prefix under which the files of a file's own module or plugin are included."""
    parts = path.split("/")
    if parts[0] == "include":
        return "/".join(parts[1:-1]) + "/"
    return parts[1] + "/" if parts[0] == "src" else "/".join(parts[:2]) + "/"


def guard(path):
    """BERTH_SRC_CACHE_CACHE_H_ for src/cache/cache.h; as included for public headers."""
    name = re.sub(r"^include/(berth/)?", "", path)
    return "BERTH_%s_" % re.sub(r"[/.]", "_", name).upper()


def violations(root):
    tree = set(files(root))
    for path in sorted(tree):
        layer = max((l for l in MAY_INCLUDE if path.startswith(l)), key=len, default=None)
        if layer is None:
            yield path, 0, "is in no layer that tests/layering/check_includes.py knows"
            continue
        allowed = MAY_INCLUDE[layer] + [own_module(path)]
        if path.startswith("plugins/builtin."):
            allowed += ["plugins/", "berth/builtin_plugins.h"]
        with open(os.path.join(root, path), encoding="utf-8") as f:
            lines = list(enumerate(f, 1))
        first = next((line for _, line in lines if line.startswith("#")), "").strip()
        if lines[0][1].strip() != LICENCE:
            yield path, 1, "begin with " + LICENCE
        if path.endswith(".h") and first != "#ifndef " + guard(path):
            yield path, 1, "begin with #ifndef %s" % guard(path)
        for number, line in lines:
            match = INCLUDE.match(line)
            code = line.split("//")[0]
            for word, instead in WORDS.items():
                if re.search(re.escape(word) + r"\b", code) and path != "include/berth/mutex.h":
                    yield path, number, "%s: use %s" % (word, instead)
            if not match:
                continue
            quote, name = match.groups()
            if path.startswith("include/") and HEAVY.search(name):
                yield path, number, "a public header includes %s" % name
            if quote == "<" or HEAVY.search(name):
                continue
            if os.path.join(os.path.dirname(path), name) in tree and "/" not in name:
                continue  # beside it
            ours = any(top + name in tree for top in ("include/", "src/", "")) or name.startswith("berth/")
            if ours and not any(name.startswith(prefix) for prefix in allowed):
                yield path, number, "%s may not include %s" % (layer, name)
            for inside, users in INSIDE.items():
                if name.startswith(inside) and name not in EXPORTED and not path.startswith(tuple(users)):
                    yield path, number, "only %s may include %s" % (" ".join(users), name)


def without_licence(root):
    for path in sorted(path for pattern in YAML for path in glob.glob(os.path.join(root, pattern), recursive=True)):
        with open(path, encoding="utf-8") as f:
            if f.readline().strip() != LICENCE.replace("//", "#") and "/templates/" not in path:
                yield os.path.relpath(path, root), 1, "begin with " + LICENCE.replace("//", "#")


def headers_of(root, path, seen):
    """Adds to `seen` the public headers that `path` includes, however far down."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        for _, name in filter(None, (match and match.groups() for match in map(INCLUDE.match, f))):
            if name.startswith("berth/") and name not in seen and os.path.exists(os.path.join(root, "include", name)):
                seen.add(name)
                headers_of(root, "include/" + name, seen)
    return seen


def too_many_headers(root):
    for path, most in MOST_HEADERS.items():
        count = len(headers_of(root, path, set()))
        if count > most:
            yield path, 1, "includes %d headers of ours, at most %d are meant" % (count, most)
    for folder, most in MOST_FILES.items():
        count = len(os.listdir(os.path.join(root, folder)))
        if count > most:
            yield folder, 1, "has %d headers, at most %d are meant" % (count, most)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    found = list(violations(root)) + list(too_many_headers(root)) + list(without_licence(root))
    for path, number, what in found:
        print("%s:%d: %s" % (path, number, what))
    if not any(True for _ in files(root)):
        sys.exit("no source files under " + root)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
