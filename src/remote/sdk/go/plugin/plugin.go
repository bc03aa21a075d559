// SPDX-License-Identifier: Apache-2.0

// Package plugin serves a scheduler plugin to Berth. A plugin is a value of type Hooks: the functions that it has are
// the extension points that it serves. Calls of one session come one at a time, but for PreBind and Bind. A panic of a hook is
// an ERROR of that call, and failurePolicy in the profile says what becomes of the pod; the process goes on.
//
//	plugin.Serve(address, plugin.Description{Name: "example.com/mine"}, func(s plugin.Session) (*plugin.Hooks, error) {
//		return &plugin.Hooks{Filter: func(pod *api.Pod, node *plugin.Node) *plugin.Status { ... }}, nil
//	})
package plugin

import (
	"sort"

	"berth.dev/plugin/api"
	v1 "berth.dev/plugin/v1"
)

// Description is what the plugin says of itself; the fields are those of berth.v1.Description.
type Description struct {
	Name, Version   string
	ArgumentsSchema string
	// Signature names what verdicts read of a pod. Nil: they are asked for each pod; empty: they read nothing.
	Signature     []string
	DependsOn     []string
	Normalization v1.Normalization
	Events        []*v1.Event
}

// Session is one profile of one scheduler.
type Session struct {
	Plugin, Profile string
	Arguments       []byte // JSON
	// Invalidate says that verdicts so far do not count any more. Decide answers a Permit that said Wait.
	Invalidate func()
	Decide     func(podUID string, allow bool, message string)
}

// Hooks are the extension points of a plugin; nil functions are not served. A nil Status is success.
type Hooks struct {
	// PreFilter may name the only nodes that Filter is to be asked of; nil means all of them.
	PreFilter func(pod *api.Pod, nodes *Nodes) (eligible []string, status *Status)
	Filter    func(pod *api.Pod, node *Node) *Status
	Score     func(pod *api.Pod, node *Node) int64
	// PostFilter is called when no node is feasible; codes has a v1.Code for each of nodes.All. It names the node on which
	// evicting the victims (uids of pods there) makes room, or returns a Status.
	PostFilter func(pod *api.Pod, nodes *Nodes, codes []byte) (node string, victims []string, status *Status)
	Reserve    func(pod *api.Pod, node string) *Status
	Unreserve  func(pod *api.Pod, node string)
	Permit     func(pod *api.Pod, node string) (waitMilliseconds int64, status *Status)
	PreBind    func(pod *api.Pod, node string) *Status
	Bind       func(pod *api.Pod, node string) *Status
	PostBind   func(pod *api.Pod, node string)
}

func (h *Hooks) points() (points []v1.Point) {
	for point, served := range map[v1.Point]bool{
		v1.Point_PRE_FILTER: h.PreFilter != nil, v1.Point_FILTER: h.Filter != nil, v1.Point_SCORE: h.Score != nil,
		v1.Point_POST_FILTER: h.PostFilter != nil, v1.Point_RESERVE: h.Reserve != nil, v1.Point_PERMIT: h.Permit != nil,
		v1.Point_PRE_BIND: h.PreBind != nil, v1.Point_BIND: h.Bind != nil, v1.Point_POST_BIND: h.PostBind != nil,
	} {
		if served {
			points = append(points, point)
		}
	}
	sort.Slice(points, func(i, j int) bool { return points[i] < points[j] })
	return points
}

// Status is a verdict that is not success. One value may be returned for many nodes: it is not changed.
type Status struct {
	Code    v1.Code
	Reasons []string
}

// Unschedulable rejects; evicting pods might help.
func Unschedulable(reason string) *Status {
	return &Status{v1.Code_UNSCHEDULABLE, []string{reason}}
}

// Unresolvable rejects; evicting pods does not help.
func Unresolvable(reason string) *Status {
	return &Status{v1.Code_UNSCHEDULABLE_AND_UNRESOLVABLE, []string{reason}}
}

// Wait holds a pod in Permit.
func Wait() *Status { return &Status{Code: v1.Code_WAIT} }

func (s *Status) message() *v1.Status {
	if s == nil {
		return &v1.Status{}
	}
	return &v1.Status{Code: s.Code, Reasons: s.Reasons}
}

// Node is a node as the scheduler sees it, as far as Description.DependsOn asks for it.
type Node struct {
	Object    *api.Node
	Requested map[string]int64
	PodCount  int64
	Pods      map[string]*api.Pod // by uid
}

// Name is metadata.name.
func (n *Node) Name() string { return n.Object.GetMetadata().GetName() }

// Nodes are all nodes by index; nil where there is none.
type Nodes struct {
	All      []*Node
	Revision uint64
}

func (n *Nodes) apply(update *v1.Update) {
	if update.Full {
		n.All = nil
	}
	for len(n.All) < int(update.NodeCount) {
		n.All = append(n.All, nil)
	}
	for _, index := range update.Removed {
		n.All[index] = nil
	}
	for _, state := range update.Nodes {
		node := n.All[state.Index]
		if node == nil {
			node = &Node{Pods: map[string]*api.Pod{}}
			n.All[state.Index] = node
		}
		if state.Node != nil {
			node.Object = state.Node
		}
		if state.Requested != nil {
			node.Requested, node.PodCount = state.Requested.Amounts, state.Requested.Pods
		}
		node.change(state.PodsRemoved, state.Pods)
	}
	n.Revision = update.Revision
}

func (n *Node) change(removed []string, added []*api.Pod) {
	for _, uid := range removed {
		delete(n.Pods, uid)
	}
	for _, pod := range added {
		n.Pods[UID(pod)] = pod
	}
}

// UID is metadata.uid, or what Berth takes instead for a pod without one.
func UID(pod *api.Pod) string {
	if uid := pod.GetMetadata().GetUid(); uid != "" {
		return uid
	}
	return "Pod/" + pod.GetMetadata().GetNamespace() + "/" + pod.GetMetadata().GetName()
}

// hypothetical is the node as preemption asks about it.
func (n *Nodes) hypothetical(h *v1.HypotheticalNode) *Node {
	node := *n.All[h.Index]
	if h.Requested != nil {
		node.Requested, node.PodCount = h.Requested.Amounts, h.Requested.Pods
	}
	pods := node.Pods
	node.Pods = make(map[string]*api.Pod, len(pods))
	for uid, pod := range pods {
		node.Pods[uid] = pod
	}
	node.change(h.PodsRemoved, h.PodsAdded)
	return &node
}
