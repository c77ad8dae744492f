package transport_test

import (
	"context"
	"fmt"

	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// This example starts a kernel that answers a single request, and a client
// that sends it.
func ExampleListen() {
	ctx := context.Background()
	kernel, err := transport.Listen(wire.Connection{Transport: "tcp", IP: "127.0.0.1"}, transport.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer kernel.Close()
	session := wire.NewSession()
	go func() {
		request, err := kernel.Receive(ctx, wire.Shell)
		if err != nil {
			return
		}
		header := wire.NewHeader(session, "kernel", "kernel_info_reply")
		reply, err := wire.New(header, request.Header, map[string]any{"status": "ok"})
		if err != nil {
			return
		}
		reply.Identities = request.Identities
		kernel.Send(wire.Shell, reply)
	}()

	client, err := transport.Dial(ctx, kernel.Connection())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	if _, err := client.Request(wire.Shell, "kernel_info_request", nil); err != nil {
		fmt.Println(err)
		return
	}
	reply, err := client.Receive(ctx, wire.Shell)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s\n", reply.Header.MsgType, reply.Content)
	// Output: kernel_info_reply {"status":"ok"}
}
