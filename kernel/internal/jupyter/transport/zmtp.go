package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// This file implements the part of ZMTP 3.0, the protocol under ZeroMQ
// (rfc.zeromq.org/spec/23), that the guard handles itself: the greeting, the
// READY command and frame headers.

// Flags of a frame.
const (
	flagMore    = 1 << 0
	flagLong    = 1 << 1
	flagCommand = 1 << 2
	flagsKnown  = flagMore | flagLong | flagCommand
)

// greetingSize is the size of a greeting in bytes.
const greetingSize = 64

// greeting is the first message of both sides: signature, version 3.0,
// mechanism NULL, not as-server.
var greeting = func() (g [greetingSize]byte) {
	g[0], g[9] = 0xFF, 0x7F
	g[10] = 3
	copy(g[12:], "NULL")
	return g
}()

// readGreeting reads a peer's greeting. The error says why it is not
// acceptable.
func readGreeting(r io.Reader) error {
	var g [greetingSize]byte
	// The first ten bytes suffice to detect a peer of another protocol.
	if _, err := io.ReadFull(r, g[:10]); err != nil {
		return fmt.Errorf("no greeting: %w", err)
	}
	if g[0] != 0xFF || g[9] != 0x7F {
		return errors.New("not a ZeroMQ greeting")
	}
	if _, err := io.ReadFull(r, g[10:]); err != nil {
		return fmt.Errorf("half a greeting: %w", err)
	}
	mechanism, _, _ := bytes.Cut(g[12:32], []byte{0})
	switch {
	case g[10] < 3:
		return fmt.Errorf("ZMTP version %d.%d, want 3.0", g[10], g[11])
	case string(mechanism) != "NULL":
		return fmt.Errorf("security mechanism %q, want NULL", mechanism)
	}
	return nil
}

// maxReady is the greatest size of a READY command in bytes.
const maxReady = 4096

// readReady reads a peer's READY command and returns the socket type and the
// identity that it contains.
func readReady(r io.Reader) (socketType, identity string, err error) {
	flags, size, err := readFrameHeader(r)
	if err != nil {
		return "", "", fmt.Errorf("no READY: %w", err)
	}
	if flags&flagCommand == 0 || flags&flagMore != 0 || size > maxReady {
		return "", "", errors.New("no READY command after the greeting")
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return "", "", fmt.Errorf("half a READY: %w", err)
	}
	name, properties, ok := command(body)
	if !ok || name != "READY" {
		return "", "", errors.New("no READY command after the greeting")
	}
	for len(properties) > 0 {
		n := int(properties[0])
		if len(properties) < 1+n+4 {
			return "", "", errors.New("READY is cut short")
		}
		key := strings.ToLower(string(properties[1 : 1+n]))
		properties = properties[1+n:]
		m := int64(binary.BigEndian.Uint32(properties))
		if int64(len(properties)) < 4+m {
			return "", "", errors.New("READY is cut short")
		}
		value := string(properties[4 : 4+m])
		properties = properties[4+m:]
		switch key {
		case "socket-type":
			socketType = value
		case "identity":
			identity = value
		}
	}
	return socketType, identity, nil
}

// appendReady appends a READY command frame.
func appendReady(b []byte, socketType, identity string) []byte {
	body := append([]byte{5}, "READY"...)
	for _, property := range [][2]string{{"Socket-Type", socketType}, {"Identity", identity}} {
		body = append(body, byte(len(property[0])))
		body = append(body, property[0]...)
		body = binary.BigEndian.AppendUint32(body, uint32(len(property[1])))
		body = append(body, property[1]...)
	}
	b = appendFrameHeader(b, flagCommand, len(body))
	return append(b, body...)
}

// command splits the body of a command frame into its name and data.
func command(body []byte) (name string, data []byte, ok bool) {
	if len(body) == 0 || len(body) < 1+int(body[0]) {
		return "", nil, false
	}
	n := 1 + int(body[0])
	return string(body[1:n]), body[n:], true
}

// readFrameHeader reads the header of a frame.
func readFrameHeader(r io.Reader) (flags byte, size uint64, err error) {
	var h [9]byte
	if _, err := io.ReadFull(r, h[:2]); err != nil {
		return 0, 0, err
	}
	flags = h[0]
	if flags&^flagsKnown != 0 {
		return 0, 0, fmt.Errorf("frame with unknown flags %#x", flags)
	}
	if flags&flagLong == 0 {
		return flags, uint64(h[1]), nil
	}
	if _, err := io.ReadFull(r, h[2:]); err != nil {
		return 0, 0, err
	}
	return flags, binary.BigEndian.Uint64(h[1:]), nil
}

// appendFrameHeader appends the header of a frame of n bytes.
func appendFrameHeader(b []byte, flags byte, n int) []byte {
	if n <= 255 {
		return append(b, flags, byte(n))
	}
	b = append(b, flags|flagLong)
	return binary.BigEndian.AppendUint64(b, uint64(n))
}

// A framer tracks the frame boundaries in a stream that is written in pieces.
type framer struct {
	header [9]byte
	have   int    // bytes of the frame header read so far
	left   uint64 // bytes of the body still to be read
	inBody bool
}

// next advances to the end of the first frame that ends in p, or to the end of
// p. It returns the number of bytes consumed, and whether a frame, and with it
// a message, has ended.
func (f *framer) next(p []byte) (n int, frameEnd, messageEnd bool) {
	for !f.inBody {
		want := 2
		if f.have > 0 && f.header[0]&flagLong != 0 {
			want = 9
		}
		if f.have >= 2 && f.have == want {
			f.inBody = true
			f.left = uint64(f.header[1])
			if want == 9 {
				f.left = binary.BigEndian.Uint64(f.header[1:])
			}
			break
		}
		if n == len(p) {
			return n, false, false
		}
		f.header[f.have] = p[n]
		f.have++
		n++
	}
	take := min(f.left, uint64(len(p)-n))
	f.left -= take
	n += int(take)
	if f.left > 0 {
		return n, false, false
	}
	f.have, f.inBody = 0, false
	return n, true, f.header[0]&flagMore == 0
}

// A socketKind describes a kind of socket to the guard.
type socketKind struct {
	name  string   // socket type in the READY command
	peers []string // the socket types that may connect
}

var (
	router    = socketKind{"ROUTER", []string{"DEALER", "REQ", "ROUTER"}}
	publisher = socketKind{"PUB", []string{"SUB", "XSUB"}}
	replier   = socketKind{"REP", []string{"REQ", "DEALER"}}
)

// accepts reports whether a peer of the given type may connect.
func (k socketKind) accepts(socketType string) bool {
	return slices.Contains(k.peers, socketType)
}
