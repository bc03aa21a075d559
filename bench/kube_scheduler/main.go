// SPDX-License-Identifier: Apache-2.0

// kube_scheduler runs kube-scheduler in process on a file of manifests, with a client that answers from memory, and prints how
// fast it was. It is what `bench/run.sh --against` compares with:
//
//	kube_scheduler [-config FILE] [-feature-gates GATE=true,...] [-idle SECONDS] [-limit SECONDS] [-parallelism N] CLUSTER.jsonl
//
// The file has one object a line, as bench/workloads/generate.py writes it. All informers are synced, and so all pending pods
// queued, before the scheduler starts; the clock runs until its last binding. It ends when nothing was bound for -idle seconds, or
// after -limit. The last line is JSON with "bound", "schedule_seconds" and "pods_per_second".
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic/dynamicinformer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configlatest "k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// store keeps the pods and tells the informer of changes. The fake clientset would do it too, but lists all of its objects for each
// request.
type store struct {
	mu       sync.Mutex
	pods     map[types.NamespacedName]*v1.Pod
	events   chan watch.Event
	version  int
	bound    atomic.Int64
	deleted  atomic.Int64
	lastBind atomic.Int64 // nanoseconds since 1970
}

func (s *store) change(kind watch.EventType, pod *v1.Pod) {
	s.version++
	pod.ResourceVersion = fmt.Sprint(s.version)
	s.events <- watch.Event{Type: kind, Object: pod}
}

func (s *store) bind(binding *v1.Binding, namespace string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := types.NamespacedName{Namespace: namespace, Name: binding.Name}
	pod, found := s.pods[name]
	if !found {
		return fmt.Errorf("pod %s is gone", name)
	}
	if pod.Spec.NodeName != "" {
		return fmt.Errorf("pod %s is bound already", name)
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	s.pods[name] = pod
	s.change(watch.Modified, pod)
	s.bound.Add(1)
	s.lastBind.Store(time.Now().UnixNano())
	return nil
}

func (s *store) remove(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if pod, found := s.pods[key]; found {
		delete(s.pods, key)
		s.deleted.Add(1)
		s.change(watch.Deleted, pod.DeepCopy())
	}
}

func (s *store) list() *v1.PodList {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(s.version)}}
	for _, pod := range s.pods {
		list.Items = append(list.Items, *pod)
	}
	return list
}

// podWatch is the one watch on pods.
type podWatch struct{ events chan watch.Event }

func (w podWatch) Stop()                          {}
func (w podWatch) ResultChan() <-chan watch.Event { return w.events }

// serve lets the store answer for pods. Status patches are accepted and dropped, as are Events: what they cost is the API server's.
func (s *store) serve(client *fake.Clientset) {
	client.PrependReactor("*", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		switch request := action.(type) {
		case clienttesting.CreateAction:
			if action.GetSubresource() == "binding" {
				binding := request.GetObject().(*v1.Binding)
				return true, binding, s.bind(binding, request.GetNamespace())
			}
		case clienttesting.DeleteAction:
			s.remove(request.GetNamespace(), request.GetName())
			return true, nil, nil
		case clienttesting.PatchAction:
			s.mu.Lock()
			defer s.mu.Unlock()
			pod := s.pods[types.NamespacedName{Namespace: request.GetNamespace(), Name: request.GetName()}]
			return true, pod, nil
		case clienttesting.ListAction:
			return true, s.list(), nil
		}
		return false, nil, nil
	})
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, podWatch{s.events}, nil
	})
}

// versionClaims gives claims that are written a new version: the scheduler's cache looks at nothing else.
func versionClaims(client *fake.Clientset) {
	var version atomic.Int64
	client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if claim, is := action.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim); is {
			claim.ResourceVersion = fmt.Sprint(firstVersion + version.Add(1))
		}
		return false, nil, nil // the tracker stores it
	})
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "kube_scheduler:", err)
	os.Exit(1)
}

func read(path string) (pods *store, others []runtime.Object) {
	file, err := os.Open(path)
	if err != nil {
		fail(err)
	}
	defer file.Close()
	pods = &store{pods: map[types.NamespacedName]*v1.Pod{}, events: make(chan watch.Event, 1<<20)}
	decoder := clientscheme.Codecs.UniversalDeserializer()
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 1<<20), 1<<26)
	for number := 1; lines.Scan(); number++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		object, _, err := decoder.Decode(lines.Bytes(), nil, nil)
		if err != nil {
			fail(fmt.Errorf("%s:%d: %w", path, number, err))
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			fail(fmt.Errorf("%s:%d: %w", path, number, err))
		}
		if accessor.GetUID() == "" {
			accessor.SetUID(types.UID(fmt.Sprintf("%s-%d", accessor.GetName(), number)))
		}
		if pod, is := object.(*v1.Pod); is {
			if pod.Namespace == "" {
				pod.Namespace = "default"
			}
			if pod.Spec.SchedulerName == "" {
				pod.Spec.SchedulerName = v1.DefaultSchedulerName
			}
			clientscheme.Scheme.Default(pod)
			pods.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
			continue
		}
		clientscheme.Scheme.Default(object)
		others = append(others, object)
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
	return pods, others
}

const firstVersion = 1 // of claims

// makeClaims does what the resource claim controller does: a claim for each pod that names a template.
func makeClaims(pods *store, others []runtime.Object) []runtime.Object {
	templates := map[types.NamespacedName]*resourcev1.ResourceClaimTemplate{}
	for _, object := range others {
		if template, is := object.(*resourcev1.ResourceClaimTemplate); is {
			templates[types.NamespacedName{Namespace: template.Namespace, Name: template.Name}] = template
		}
	}
	controller := true
	for _, pod := range pods.pods {
		for _, wanted := range pod.Spec.ResourceClaims {
			if wanted.ResourceClaimTemplateName == nil {
				continue
			}
			template, found := templates[types.NamespacedName{Namespace: pod.Namespace, Name: *wanted.ResourceClaimTemplateName}]
			if !found {
				continue
			}
			name := pod.Name + "-" + wanted.Name
			others = append(others, &resourcev1.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: pod.Namespace, Name: name, UID: types.UID("claim-" + name), Labels: template.Spec.Labels,
					ResourceVersion: fmt.Sprint(firstVersion),
					OwnerReferences: []metav1.OwnerReference{{
						APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controller,
					}},
				},
				Spec: template.Spec.Spec,
			})
			pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses,
				v1.PodResourceClaimStatus{Name: wanted.Name, ResourceClaimName: &name})
		}
	}
	return others
}

func readConfiguration(path string) *config.KubeSchedulerConfiguration {
	if path == "" {
		configuration, err := configlatest.Default()
		if err != nil {
			fail(err)
		}
		return configuration
	}
	data, err := os.ReadFile(path)
	if err != nil {
		fail(err)
	}
	object, _, err := configscheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		fail(fmt.Errorf("%s: %w", path, err))
	}
	configuration, is := object.(*config.KubeSchedulerConfiguration)
	if !is {
		fail(fmt.Errorf("%s: not a KubeSchedulerConfiguration", path))
	}
	return configuration
}

func main() {
	path := flag.String("config", "", "a KubeSchedulerConfiguration; without it kube-scheduler's default")
	idle := flag.Float64("idle", 15, "ends after so many seconds without a binding")
	limit := flag.Float64("limit", 600, "ends after so many seconds")
	parallelism := flag.Int("parallelism", 0, "goroutines that evaluate nodes; 0: as configured")
	gates := flag.String("feature-gates", "", "as kube-scheduler's flag of that name")
	flag.Parse()
	if err := utilfeature.DefaultMutableFeatureGate.Set(*gates); err != nil {
		fail(err)
	}
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	klog.LogToStderr(false)
	klog.SetOutput(discard{})
	configuration := readConfiguration(*path)
	if *parallelism > 0 {
		configuration.Parallelism = int32(*parallelism)
	}
	pods, others := read(flag.Arg(0))
	others = makeClaims(pods, others)
	pending := 0
	for _, pod := range pods.pods {
		if pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0 {
			pending++
		}
	}

	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	defer stop()
	client := fake.NewClientset(others...)
	pods.serve(client)
	versionClaims(client)
	metrics.Register()
	factory := scheduler.NewInformerFactory(client, 0)
	dynamic := dynamicinformer.NewDynamicSharedInformerFactory(dynamicfake.NewSimpleDynamicClient(clientscheme.Scheme), 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}) // not started: Events go nowhere
	instance, err := scheduler.New(ctx, client, factory, dynamic, profile.NewRecorderFactory(broadcaster),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
		scheduler.WithParallelism(configuration.Parallelism),
		scheduler.WithPodInitialBackoffSeconds(configuration.PodInitialBackoffSeconds),
		scheduler.WithPodMaxBackoffSeconds(configuration.PodMaxBackoffSeconds))
	if err != nil {
		fail(err)
	}
	start(ctx, factory)
	if err := instance.WaitForHandlersSync(ctx); err != nil {
		fail(err)
	}

	begin := time.Now()
	var before syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	pods.lastBind.Store(begin.UnixNano())
	go instance.Run(ctx)
	for {
		time.Sleep(10 * time.Millisecond)
		quiet := time.Since(time.Unix(0, pods.lastBind.Load())).Seconds()
		if int(pods.bound.Load()) == pending || quiet > *idle || time.Since(begin).Seconds() > *limit {
			break
		}
	}
	var after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	seconds := time.Unix(0, pods.lastBind.Load()).Sub(begin).Seconds()
	result := map[string]any{
		"bound": pods.bound.Load(), "pending": int64(pending) - pods.bound.Load(), "evicted": pods.deleted.Load(),
		"schedule_seconds": seconds, "pods_per_second": float64(pods.bound.Load()) / seconds,
		"cpu_seconds": cpu(after) - cpu(before), "peak_rss_bytes": after.Maxrss * 1024,
	}
	line, _ := json.Marshal(result)
	fmt.Println(string(line))
}

func start(ctx context.Context, factory informers.SharedInformerFactory) {
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
}

func cpu(usage syscall.Rusage) float64 {
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
