// SPDX-License-Identifier: Apache-2.0
// An extender for tests, with Go's standard library alone: its messages have the form of
// k8s.io/kube-scheduler/extender/v1, and it reads and writes them as the extenders of that package do.
//
//	extender -address 127.0.0.1:0 -log requests.jsonl [-cert F -key F] [-api URL -api-ca F -api-cert F -api-key F]
//
// Prints its URL when it listens. Logs every request as a line {"verb": ..., "request": ...}. Nodes are judged by their
// names: "refused-*" may be freed by preemption, "hopeless-*" may not, "silent-*" are left out without a reason;
// "*-good" score 10, others 1; "kept-*" are not preempted on. With an API server it binds, without one it only says so.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
)

type object struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

type nodeList struct {
	Metadata struct{}          `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

type args struct {
	Pod       json.RawMessage
	Nodes     *nodeList
	NodeNames *[]string
}

type filterResult struct {
	Nodes                      *nodeList
	NodeNames                  *[]string
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
	Error                      string
}

type hostPriority struct {
	Host  string
	Score int64
}

type metaPod struct{ UID string }

type metaVictims struct {
	Pods             []*metaPod
	NumPDBViolations int64
}

type victims struct {
	Pods []*struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	NumPDBViolations int64
}

type preemptionArgs struct {
	Pod                   json.RawMessage
	NodeNameToVictims     map[string]*victims
	NodeNameToMetaVictims map[string]*metaVictims
}

type preemptionResult struct{ NodeNameToMetaVictims map[string]*metaVictims }

type bindingResult struct{ Error string }

func nameOf(node json.RawMessage) string {
	var parsed object
	if err := json.Unmarshal(node, &parsed); err != nil {
		return ""
	}
	return parsed.Metadata.Name
}

func filter(request *args) *filterResult {
	result := &filterResult{FailedNodes: map[string]string{}, FailedAndUnresolvableNodes: map[string]string{}}
	passes := func(name string) bool {
		switch {
		case strings.HasPrefix(name, "refused-"):
			result.FailedNodes[name] = "the extender has given the node away"
		case strings.HasPrefix(name, "hopeless-"):
			result.FailedAndUnresolvableNodes[name] = "the extender has no such device"
		case !strings.HasPrefix(name, "silent-"):
			return true
		}
		return false
	}
	if request.NodeNames != nil {
		names := []string{}
		for _, name := range *request.NodeNames {
			if passes(name) {
				names = append(names, name)
			}
		}
		result.NodeNames = &names
		return result
	}
	result.Nodes = &nodeList{Items: []json.RawMessage{}}
	for _, node := range request.Nodes.Items {
		if passes(nameOf(node)) {
			result.Nodes.Items = append(result.Nodes.Items, node)
		}
	}
	return result
}

func prioritize(request *args) []hostPriority {
	names := []string{}
	if request.NodeNames != nil {
		names = *request.NodeNames
	} else {
		for _, node := range request.Nodes.Items {
			names = append(names, nameOf(node))
		}
	}
	priorities := []hostPriority{}
	for _, name := range names {
		score := int64(1)
		if strings.HasSuffix(name, "-good") {
			score = 10
		}
		priorities = append(priorities, hostPriority{Host: name, Score: score})
	}
	return priorities
}

func preempt(request *preemptionArgs) *preemptionResult {
	result := &preemptionResult{NodeNameToMetaVictims: map[string]*metaVictims{}}
	for name, of := range request.NodeNameToMetaVictims {
		if !strings.HasPrefix(name, "kept-") {
			result.NodeNameToMetaVictims[name] = of
		}
	}
	for name, of := range request.NodeNameToVictims {
		if strings.HasPrefix(name, "kept-") {
			continue
		}
		meta := &metaVictims{NumPDBViolations: of.NumPDBViolations}
		for _, pod := range of.Pods {
			meta.Pods = append(meta.Pods, &metaPod{UID: pod.Metadata.UID})
		}
		result.NodeNameToMetaVictims[name] = meta
	}
	return result
}

type bindingArgs struct{ PodName, PodNamespace, PodUID, Node string }

// binder writes bindings to an API server; nil writes none.
type binder struct {
	url    string
	client *http.Client
}

func newBinder(url, ca, cert, key string) *binder {
	if url == "" {
		return nil
	}
	certificate, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		panic(err)
	}
	authority, err := os.ReadFile(ca)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}}
	return &binder{url, &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}
}

func (b *binder) bind(request *bindingArgs) *bindingResult {
	if b == nil {
		return &bindingResult{}
	}
	body, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Binding",
		"metadata": map[string]any{"name": request.PodName, "uid": request.PodUID},
		"target":   map[string]any{"apiVersion": "v1", "kind": "Node", "name": request.Node}})
	answer, err := b.client.Post(fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s/binding", b.url, request.PodNamespace, request.PodName),
		"application/json", bytes.NewReader(body))
	if err != nil {
		return &bindingResult{err.Error()}
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		return &bindingResult{answer.Status}
	}
	return &bindingResult{}
}

func answer(verb string, body []byte, binder *binder) (any, error) {
	switch verb {
	case "filter", "prioritize":
		var request args
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, err
		}
		if verb == "filter" {
			return filter(&request), nil
		}
		return prioritize(&request), nil
	case "preempt":
		var request preemptionArgs
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, err
		}
		return preempt(&request), nil
	case "bind":
		var request bindingArgs
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, err
		}
		return binder.bind(&request), nil
	}
	return nil, fmt.Errorf("no such verb: %s", verb)
}

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen")
	logPath := flag.String("log", "", "file of the requests")
	cert := flag.String("cert", "", "certificate: speak TLS")
	key := flag.String("key", "", "its key")
	api := flag.String("api", "", "URL of an API server: bind really")
	apiCA := flag.String("api-ca", "", "its authority")
	apiCert := flag.String("api-cert", "", "certificate for it")
	apiKey := flag.String("api-key", "", "its key")
	flag.Parse()

	binder := newBinder(*api, *apiCA, *apiCert, *apiKey)
	log := os.Stderr
	if *logPath != "" {
		file, err := os.OpenFile(*logPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			panic(err)
		}
		log = file
	}
	var lock sync.Mutex
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		verb := path.Base(r.URL.Path)
		line, _ := json.Marshal(map[string]any{"verb": verb, "contentType": r.Header.Get("Content-Type"),
			"request": json.RawMessage(body)})
		lock.Lock()
		fmt.Fprintf(log, "%s\n", line)
		lock.Unlock()
		var result any
		if err == nil {
			result, err = answer(verb, body, binder)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(result)
	})
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		panic(err)
	}
	scheme := "http"
	if *cert != "" {
		scheme = "https"
	}
	fmt.Printf("%s://%s\n", scheme, listener.Addr())
	if *cert != "" {
		err = http.ServeTLS(listener, nil, *cert, *key)
	} else {
		err = http.Serve(listener, nil)
	}
	panic(err)
}
