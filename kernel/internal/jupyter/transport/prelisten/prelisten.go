// Package prelisten listens on a kernel's ports before the rest of the process is
// initialised. A client connects as soon as it has started the process; where
// nobody listens yet, ZeroMQ tries again only a tenth of a second later, and the
// first cell waits that long. Connections that come before the kernel accepts
// them wait in the system's queue.
//
// Go initialises packages in the order of their paths, as far as their imports
// allow it, so this one imports little and comes before most.
package prelisten

import (
	"net"
	"os"
	"strings"
	"sync"

	"dace.local/kernel/internal/jupyter/wire"
)

var (
	mu        sync.Mutex // guards listeners
	listeners = open(os.Args[1:])
)

// open listens on the TCP ports of the connection file that args, those of `dace
// jupyter`, name. What it cannot open is left to the kernel, which reports it.
func open(args []string) map[string]net.Listener {
	if len(args) < 2 || args[0] != "jupyter" {
		return nil
	}
	file := args[len(args)-1]
	if _, value, ok := strings.Cut(file, "="); ok && strings.HasPrefix(file, "-") {
		file = value
	}
	conn, err := wire.ReadConnection(file)
	if err != nil || conn.Transport != "tcp" {
		return nil
	}
	all := map[string]net.Listener{}
	for _, ch := range wire.Channels {
		network, address := conn.Address(ch)
		if conn.Port(ch) == 0 {
			continue
		}
		if l, err := net.Listen(network, address); err == nil {
			all[network+" "+address] = l
		}
	}
	return all
}

// Listener hands over the listener of an address, or returns nil if there is
// none.
func Listener(network, address string) net.Listener {
	mu.Lock()
	defer mu.Unlock()
	l := listeners[network+" "+address]
	delete(listeners, network+" "+address)
	return l
}
