package devstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// portPatience is how long a start waits, in all, for ports that are in use.
const portPatience = time.Second

// DefaultPortBase is the port base of `marketplace dev`.
const DefaultPortBase = 7600

// Ports are the loopback ports of a stack and of the product's own processes
// beside it. Their order here is their offset from the port base.
type Ports struct {
	API             int `json:"api"`
	Postgres        int `json:"postgres"`
	Temporal        int `json:"temporal"`
	TemporalUI      int `json:"temporal_ui"`
	S3              int `json:"s3"`
	CodeHost        int `json:"code_host"`
	Codec           int `json:"codec"`
	TemporalMetrics int `json:"temporal_metrics"`
	TemporalHTTP    int `json:"temporal_http"`
	WorkerMetrics   int `json:"worker_metrics"`
}

type namedPort struct {
	part string
	port *int
}

func (p *Ports) named() []namedPort {
	return []namedPort{
		{"API", &p.API},
		{"Postgres", &p.Postgres},
		{"Temporal gRPC", &p.Temporal},
		{"Temporal Web UI", &p.TemporalUI},
		{"S3 gateway", &p.S3},
		{"code host simulator", &p.CodeHost},
		{"payload codec", &p.Codec},
		{"Temporal metrics", &p.TemporalMetrics},
		{"Temporal HTTP", &p.TemporalHTTP},
		{"worker metrics", &p.WorkerMetrics},
	}
}

// PortBusyError names a port that another process holds.
type PortBusyError struct {
	Port   int
	Part   string // what needs the port
	Holder string // "name (pid 123)", or "another process" where it can't be told
}

func (e *PortBusyError) Error() string {
	return fmt.Sprintf("port %d (%s) is in use by %s; stop it, or move every port with --port-base N", e.Port, e.Part, e.Holder)
}

// choosePorts returns the ports of the stack in dir and remembers them there.
// With a base they are fixed, and every busy one is an error; without one they
// are those of the last time, and free ones for those that are taken by now.
func choosePorts(dir string, base int) (Ports, error) {
	var ports Ports
	var err error
	if base > 0 {
		ports, err = fixedPorts(base)
	} else {
		ports, err = freePorts(rememberedPorts(dir))
	}
	if err != nil {
		return Ports{}, err
	}
	content, err := json.MarshalIndent(ports, "", "  ")
	if err != nil {
		return Ports{}, err
	}
	return ports, os.WriteFile(portsFile(dir), content, 0o600)
}

func portsFile(dir string) string { return filepath.Join(dir, "ports.json") }

func rememberedPorts(dir string) Ports {
	var ports Ports
	if content, err := os.ReadFile(portsFile(dir)); err == nil {
		_ = json.Unmarshal(content, &ports) // unreadable: choose anew
	}
	return ports
}

func fixedPorts(base int) (Ports, error) {
	var ports Ports
	var busy []error
	patience := time.Now().Add(portPatience)
	for offset, n := range ports.named() {
		*n.port = base + offset
		switch err := awaitListen(*n.port, patience); {
		case isBusy(err):
			busy = append(busy, &PortBusyError{Port: *n.port, Part: n.part, Holder: portHolder(*n.port)})
		case err != nil:
			busy = append(busy, fmt.Errorf("port %d (%s) can't be used: %w; choose others with --port-base N", *n.port, n.part, err))
		}
	}
	return ports, errors.Join(busy...)
}

// freePorts fills in what is unset or busy. It picks below the range from which
// the kernel takes the local ports of outgoing connections, so that none of
// those takes a chosen port before it is listened on.
func freePorts(ports Ports) (Ports, error) {
	const lowest, highest, attempts = 20000, 32000, 1000
	taken := map[int]bool{}
	patience := time.Now().Add(portPatience)
	for _, n := range ports.named() {
		for attempt := 0; *n.port == 0 || taken[*n.port] || awaitListen(*n.port, patience) != nil; attempt++ {
			if attempt == attempts {
				return Ports{}, fmt.Errorf("no free port for %s between %d and %d", n.part, lowest, highest)
			}
			*n.port = lowest + rand.IntN(highest-lowest) //nolint:gosec // not a secret
		}
		taken[*n.port] = true
	}
	return ports, nil
}

// awaitListen is tryListen, again and again until the time given: what a stack that
// was killed a moment ago held is free soon.
func awaitListen(port int, until time.Time) error {
	for {
		err := tryListen(port)
		if !isBusy(err) || time.Now().After(until) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func tryListen(port int) error {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return err
	}
	return listener.Close()
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
