// Package wire encodes and decodes Jupyter messages: the connection file, the
// signature, and the frames of a message. It opens no sockets; package
// transport does.
//
// Start with [Message], [Signer.Encode] and [Signer.Decode]; a kernel reads
// its [Connection] with [ReadConnection].
//
// Input from outside is decoded by [Signer.Decode] (or, in two steps, by
// [Signer.Verify] and [Parse]). It never panics, and never keeps or allocates
// more than a small multiple of its input.
package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"
)

// Delimiter separates a message's identities from the message.
const Delimiter = "<IDS|MSG>"

// Errors that say why a message is refused; test with errors.Is.
var (
	ErrMalformed = errors.New("malformed message")
	ErrUnsigned  = errors.New("unsigned message")
	ErrSignature = errors.New("wrong signature")
	ErrReplayed  = errors.New("replayed message")
	ErrTooLarge  = errors.New("message too large")
)

// Limits bounds the size of a message.
type Limits struct {
	// Frames is the greatest number of frames, including identities,
	// delimiter, signature and buffers; 0 means 1024.
	Frames int
	// Size is the greatest total size of all frames in bytes; 0 means 256
	// MiB.
	Size int64
}

// maxHeader is the greatest size of a header in bytes. It is small because
// every reply echoes the header.
const maxHeader = 64 << 10

// withDefaults replaces zero fields by their defaults.
func (l Limits) withDefaults() Limits {
	if l.Frames == 0 {
		l.Frames = 1024
	}
	if l.Size == 0 {
		l.Size = 256 << 20
	}
	return l
}

// A Signer signs and verifies messages with one key, and remembers the
// signatures that it has seen, to refuse replayed messages. Its methods may be
// called concurrently.
type Signer struct {
	key []byte

	mu            sync.Mutex // guards recent and older
	recent, older map[[sha256.Size]byte]struct{}
}

// memory is the number of signatures that a Signer remembers at least. It
// remembers at most twice as many, which take about 5 MiB.
const memory = 1 << 16

// NewSigner returns a Signer for the key of a connection file. With an empty
// key messages are neither signed nor verified.
func NewSigner(key string) *Signer {
	return &Signer{key: []byte(key)}
}

// mac returns the HMAC-SHA256 of parts.
func (s *Signer) mac(parts [][]byte) [sha256.Size]byte {
	h := hmac.New(sha256.New, s.key)
	for _, p := range parts {
		h.Write(p)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// signed is the number of frames that the signature covers, which follow it:
// header, parent header, metadata and content.
const signed = 4

// Encode returns the frames of m: identities, delimiter, signature, header,
// parent header, metadata, content, buffers. It fails if metadata or content
// does not start like a JSON object; only the start is checked. Identities,
// metadata, content and buffers are not copied.
func (s *Signer) Encode(m Message) ([][]byte, error) {
	header, _ := m.Header.MarshalJSON()
	parent, _ := m.Parent.MarshalJSON()
	metadata, content := object(m.Metadata), object(m.Content)
	if !startsObject(metadata) || !startsObject(content) {
		return nil, fmt.Errorf("metadata or content of %s is not a JSON object", m.Header.MsgType)
	}
	parts := [][]byte{header, parent, metadata, content}
	var signature []byte
	if len(s.key) > 0 {
		sum := s.mac(parts)
		signature = hex.AppendEncode(nil, sum[:])
	}
	return slices.Concat(m.Identities, [][]byte{[]byte(Delimiter), signature}, parts, m.Buffers), nil
}

// Decode verifies and parses a message. If the message must be dropped, the
// error wraps one of the Err values. The message refers to the memory of
// frames, which must not be changed afterwards.
func (s *Signer) Decode(frames [][]byte, limits Limits) (Message, error) {
	if err := s.Verify(frames, limits); err != nil {
		return Message{}, err
	}
	return Parse(frames, limits)
}

// Verify checks a message's size, structure and signature, and that the
// signature has not been seen before; it does not parse the JSON. It remembers
// the signature of a message that passes.
func (s *Signer) Verify(frames [][]byte, limits Limits) error {
	at, err := split(frames, limits)
	if err != nil {
		return err
	}
	if len(s.key) == 0 {
		return nil
	}
	signature := frames[at+1]
	if len(signature) == 0 {
		return ErrUnsigned
	}
	var got [sha256.Size]byte
	if len(signature) != hex.EncodedLen(len(got)) {
		return ErrSignature
	}
	if _, err := hex.Decode(got[:], signature); err != nil {
		return ErrSignature
	}
	want := s.mac(frames[at+2 : at+2+signed])
	if !hmac.Equal(got[:], want[:]) {
		return ErrSignature
	}
	return s.remember(want)
}

// remember stores a signature and fails if it is known already. When recent is
// full it becomes older, and the previous older signatures are forgotten.
func (s *Signer) remember(sum [sha256.Size]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, inRecent := s.recent[sum]
	_, inOlder := s.older[sum]
	if inRecent || inOlder {
		return ErrReplayed
	}
	if s.recent == nil || len(s.recent) >= memory {
		s.older, s.recent = s.recent, make(map[[sha256.Size]byte]struct{})
	}
	s.recent[sum] = struct{}{}
	return nil
}

// Parse parses a message without checking its signature; it is meant for
// messages that Verify has accepted. Of the content it checks only that it
// starts like a JSON object; [Message.Unmarshal] reports other errors.
func Parse(frames [][]byte, limits Limits) (Message, error) {
	at, err := split(frames, limits)
	if err != nil {
		return Message{}, err
	}
	parts := frames[at+2:]
	m := Message{
		Identities: frames[:at:at],
		Metadata:   parts[2],
		Content:    parts[3],
		Buffers:    parts[signed:],
	}
	for i, h := range []*Header{&m.Header, &m.Parent} {
		name := [...]string{"header", "parent header"}[i]
		if len(parts[i]) > maxHeader {
			return Message{}, fmt.Errorf("%w: %s of %d bytes", ErrTooLarge, name, len(parts[i]))
		}
		if !startsObject(parts[i]) || !utf8.Valid(parts[i]) {
			return Message{}, fmt.Errorf("%w: %s is not a JSON object", ErrMalformed, name)
		}
		if err := json.Unmarshal(parts[i], h); err != nil {
			return Message{}, fmt.Errorf("%w: %s: %v", ErrMalformed, name, err)
		}
	}
	if m.Header.MsgID == "" || m.Header.MsgType == "" {
		return Message{}, fmt.Errorf("%w: header without msg_id or msg_type", ErrMalformed)
	}
	if !startsObject(m.Metadata) || !utf8.Valid(m.Metadata) || !json.Valid(m.Metadata) {
		return Message{}, fmt.Errorf("%w: metadata is not a JSON object", ErrMalformed)
	}
	if !startsObject(m.Content) {
		return Message{}, fmt.Errorf("%w: content is not a JSON object", ErrMalformed)
	}
	return m, nil
}

// split checks the limits and the structure of a message and returns the index
// of the delimiter.
func split(frames [][]byte, limits Limits) (at int, err error) {
	limits = limits.withDefaults()
	if len(frames) > limits.Frames {
		return 0, fmt.Errorf("%w: %d frames, at most %d are read", ErrTooLarge, len(frames), limits.Frames)
	}
	var size int64
	for _, f := range frames {
		size += int64(len(f))
	}
	at = slices.IndexFunc(frames, func(f []byte) bool { return string(f) == Delimiter })
	switch {
	case size > limits.Size:
		return 0, fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, size, limits.Size)
	case at < 0:
		return 0, fmt.Errorf("%w: no %s among %d frames", ErrMalformed, Delimiter, len(frames))
	case len(frames) < at+2+signed:
		return 0, fmt.Errorf("%w: %d frames after %s, at least %d are needed", ErrMalformed, len(frames)-at-1, Delimiter, 1+signed)
	}
	return at, nil
}

// startsObject reports whether data starts like a JSON object.
func startsObject(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}
