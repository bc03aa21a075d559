// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"berth.dev/plugin/api"
	v1 "berth.dev/plugin/v1"
)

const maxMessageBytes = 256 << 20

// Factory makes the plugin for one session; an error refuses the session's arguments.
type Factory func(Session) (*Hooks, error)

// TLS names PEM files for mutual TLS.
type TLS struct{ CAFile, CertFile, KeyFile string }

// Main is a main function: it serves at the address that is the program's first argument. Three more are the files of TLS,
// in the order of its fields.
func Main(description Description, factory Factory) {
	if len(os.Args) != 2 && len(os.Args) != 5 {
		log.Fatalf("usage: %s unix:/PATH | HOST:PORT [CA.pem CERT.pem KEY.pem]", os.Args[0])
	}
	var files []TLS
	if len(os.Args) == 5 {
		files = append(files, TLS{os.Args[2], os.Args[3], os.Args[4]})
	}
	log.Fatal(Serve(os.Args[1], description, factory, files...))
}

// Serve listens on "unix:/PATH" or "HOST:PORT" until it fails. Without TLS, HOST must be a loopback address.
func Serve(address string, description Description, factory Factory, files ...TLS) error {
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxSendMsgSize(maxMessageBytes)}
	network, where := "tcp", address
	if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		network, where = "unix", strings.TrimPrefix(path, "//")
		if _, err := net.Dial("unix", where); err != nil {
			_ = os.Remove(where) // left over from a process that is dead
		}
	} else if len(files) > 0 {
		credentials, err := serverCredentials(files[0])
		if err != nil {
			return err
		}
		options = append(options, grpc.Creds(credentials))
	} else if host, _, err := net.SplitHostPort(address); err != nil || !isLoopback(host) {
		return fmt.Errorf("%s is not on the loopback interface: use TLS or a Unix socket", address)
	}
	listener, err := net.Listen(network, where)
	if err != nil {
		return err
	}
	if network == "unix" {
		if err := os.Chmod(where, 0o600); err != nil {
			return err
		}
	}
	server := grpc.NewServer(options...)
	if err := Register(server, description, factory); err != nil {
		return err
	}
	return server.Serve(listener)
}

// Register adds the plugin, health and reflection to a server of one's own.
func Register(server *grpc.Server, description Description, factory Factory) error {
	hooks, err := factory(Session{Arguments: nil})
	if err != nil {
		return err
	}
	message := &v1.Description{
		Name: description.Name, Version: description.Version, ProtocolVersion: uint32(v1.ProtocolVersion_PROTOCOL_VERSION_1),
		Points: hooks.points(), ArgumentsSchema: description.ArgumentsSchema, DependsOn: description.DependsOn,
		Normalization: description.Normalization, Events: description.Events,
	}
	if description.Signature != nil {
		message.Signature = &v1.Signature{PodFields: description.Signature}
	}
	v1.RegisterPluginServer(server, &service{description: message, factory: factory})
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func serverCredentials(files TLS) (credentials.TransportCredentials, error) {
	certificate, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(files.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s has no certificate", files.CAFile)
	}
	return credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}), nil
}

type service struct {
	v1.UnimplementedPluginServer
	description *v1.Description
	factory     Factory
}

func (s *service) Describe(context.Context, *v1.DescribeRequest) (*v1.Description, error) {
	return s.description, nil
}

// make is the factory; a panic refuses the arguments, as an error does.
func (s *service) make(session Session) (hooks *Hooks, err error) {
	defer func() {
		if status := recovered(recover()); status != nil {
			err = errors.New(status.Reasons[0])
		}
	}()
	return s.factory(session)
}

func (s *service) Session(stream v1.Plugin_SessionServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	if start == nil || start.ProtocolVersion != uint32(v1.ProtocolVersion_PROTOCOL_VERSION_1) {
		return status.Error(codes.FailedPrecondition, "the first message must be Start, of protocol version 1")
	}
	var writing sync.Mutex
	send := func(message *v1.FromPlugin) {
		writing.Lock()
		defer writing.Unlock()
		_ = stream.Send(message) // the next Recv says what is wrong
	}
	hooks, err := s.make(Session{
		Plugin: start.Plugin, Profile: start.Profile, Arguments: []byte(start.ArgumentsJson),
		Invalidate: func() {
			send(&v1.FromPlugin{Message: &v1.FromPlugin_Invalidate{Invalidate: &v1.Invalidate{}}})
		},
		Decide: func(uid string, allow bool, message string) {
			send(&v1.FromPlugin{Message: &v1.FromPlugin_Permit{Permit: &v1.PermitDecision{PodUid: uid, Allow: allow, Message: message}}})
		},
	})
	if err != nil {
		send(&v1.FromPlugin{Message: &v1.FromPlugin_Started{Started: &v1.Started{Error: err.Error()}}})
		return nil
	}
	send(&v1.FromPlugin{Message: &v1.FromPlugin_Started{Started: &v1.Started{}}})
	nodes := &Nodes{}
	for {
		message, err := stream.Recv()
		if err != nil {
			return nil // the scheduler has gone
		}
		switch m := message.Message.(type) {
		case *v1.ToPlugin_Update:
			nodes.apply(m.Update)
			if m.Update.Full {
				send(&v1.FromPlugin{Message: &v1.FromPlugin_Synced{Synced: &v1.Synced{Revision: m.Update.Revision}}})
			}
		case *v1.ToPlugin_Evaluate:
			send(&v1.FromPlugin{Message: &v1.FromPlugin_Evaluation{Evaluation: Evaluate(hooks, nodes, m.Evaluate)}})
		case *v1.ToPlugin_PostFilter:
			send(postFilter(hooks, nodes, m.PostFilter))
		case *v1.ToPlugin_Call:
			call(hooks, m.Call, send)
		}
	}
}

func postFilter(hooks *Hooks, nodes *Nodes, question *v1.PostFilter) *v1.FromPlugin {
	result := &v1.PostFilterResult{Id: question.Id, Status: Unschedulable("").message()}
	if hooks.PostFilter != nil {
		func() {
			defer func() {
				if status := recovered(recover()); status != nil {
					result.Status = status.message()
				}
			}()
			node, victims, status := hooks.PostFilter(question.Pod, nodes, question.Codes)
			result.NominatedNode, result.VictimUids, result.Status = node, victims, status.message()
		}()
	}
	return &v1.FromPlugin{Message: &v1.FromPlugin_PostFilter{PostFilter: result}}
}

func call(hooks *Hooks, call *v1.PodCall, send func(*v1.FromPlugin)) {
	answer := func(wait int64, status *Status) {
		send(&v1.FromPlugin{Message: &v1.FromPlugin_Call{
			Call: &v1.CallResult{Id: call.Id, Status: status.message(), WaitMilliseconds: wait}}})
	}
	// A panic is an ERROR; of a call that nobody waits for, it is logged.
	guard := func() {
		if status := recovered(recover()); status != nil && call.Id != 0 {
			answer(0, status)
		}
	}
	ask := func(hook func(*api.Pod, string) *Status) {
		if hook == nil {
			answer(0, nil)
			return
		}
		defer guard()
		answer(0, hook(call.Pod, call.Node))
	}
	defer guard()
	switch call.Point {
	case v1.PodPoint_CALL_RESERVE:
		ask(hooks.Reserve)
	case v1.PodPoint_CALL_UNRESERVE:
		if hooks.Unreserve != nil {
			hooks.Unreserve(call.Pod, call.Node)
		}
	case v1.PodPoint_CALL_PERMIT:
		if hooks.Permit == nil {
			answer(0, nil)
			return
		}
		answer(hooks.Permit(call.Pod, call.Node))
	case v1.PodPoint_CALL_PRE_BIND:
		go ask(hooks.PreBind) // it may take long, and several at once
	case v1.PodPoint_CALL_BIND:
		go ask(hooks.Bind)
	case v1.PodPoint_CALL_POST_BIND:
		if hooks.PostBind != nil {
			hooks.PostBind(call.Pod, call.Node)
		}
	}
}
