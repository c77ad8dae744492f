package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// signedByPython returns the frames into which jupyter_client 7.4.9 encodes an
// execute_request with the key "a-secret-key":
//
//	Session(key=b"a-secret-key", session="8a2c9d4e-session", username="ada").serialize(msg, ident=b"ident")
func signedByPython() [][]byte {
	return [][]byte{
		[]byte("ident"),
		[]byte("<IDS|MSG>"),
		[]byte("ad0ce7ceea3df6d99d0b998f8531bccf4a5675502ff0bffbc3e284b9d2eed33c"),
		[]byte(`{"msg_id": "8a2c9d4e-session_1_0", "msg_type": "execute_request", "username": "ada", "session": "8a2c9d4e-session", "date": "2026-03-04T05:06:07.089012Z", "version": "5.3", "subshell_id": null}`),
		[]byte(`{}`),
		[]byte(`{"deletedCells": []}`),
		[]byte("{\"code\": \"fmt.Println(\\\"h\xc3\xa9llo\\\")\\n\", \"silent\": false}"),
	}
}

const pythonKey = "a-secret-key"

func TestDecodePython(t *testing.T) {
	frames := signedByPython()
	m, err := NewSigner(pythonKey).Decode(frames, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := Message{
		Identities: [][]byte{[]byte("ident")},
		Header: Header{
			MsgID:    "8a2c9d4e-session_1_0",
			Session:  "8a2c9d4e-session",
			Username: "ada",
			MsgType:  "execute_request",
			Version:  "5.3",
			Date:     time.Date(2026, 3, 4, 5, 6, 7, 89012000, time.UTC),
			Raw:      frames[3],
		},
		Metadata: frames[5],
		Content:  frames[6],
		Buffers:  [][]byte{},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v\nwant %+v", m, want)
	}
	var content struct{ Code string }
	if err := m.Unmarshal(&content); err != nil || content.Code != "fmt.Println(\"héllo\")\n" {
		t.Errorf("code %q, %v", content.Code, err)
	}

	// Encoding the decoded message gives the same signature, and a reply
	// echoes its header.
	again, err := NewSigner(pythonKey).Encode(m)
	if err != nil || !slices.EqualFunc(again, frames, bytes.Equal) {
		t.Errorf("encoded again: %q, %v", again, err)
	}
	reply, err := New(NewHeader("s", "u", "execute_reply"), m.Header, map[string]string{"status": "ok"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := NewSigner("").Encode(reply)
	if err != nil || !bytes.Equal(out[3], frames[3]) {
		t.Errorf("parent header %s, %v; want %s", out[3], err, frames[3])
	}
}

func TestRefused(t *testing.T) {
	set := func(i int, s string) func([][]byte) [][]byte {
		return func(f [][]byte) [][]byte { f[i] = []byte(s); return f }
	}
	for _, tc := range []struct {
		name   string
		change func([][]byte) [][]byte
		limits Limits
		want   error
	}{
		{"no frames", func(f [][]byte) [][]byte { return nil }, Limits{}, ErrMalformed},
		{"no delimiter", set(1, "<IDS|MSG"), Limits{}, ErrMalformed},
		{"no content", func(f [][]byte) [][]byte { return f[:6] }, Limits{}, ErrMalformed},
		{"10,000 empty frames", func(f [][]byte) [][]byte { return make([][]byte, 10000) }, Limits{}, ErrTooLarge},
		{"one frame too many", func(f [][]byte) [][]byte { return f }, Limits{Frames: 6}, ErrTooLarge},
		{"one byte too many", func(f [][]byte) [][]byte { return f }, Limits{Size: 300}, ErrTooLarge},
		{"unsigned", set(2, ""), Limits{}, ErrUnsigned},
		{"not hexadecimal", set(2, strings.Repeat("x", 64)), Limits{}, ErrSignature},
		{"short signature", set(2, "ad0c"), Limits{}, ErrSignature},
		{"other signature", set(2, strings.Repeat("0", 64)), Limits{}, ErrSignature},
		{"other content", set(6, "{}"), Limits{}, ErrSignature},
		{"shifted parts", func(f [][]byte) [][]byte {
			f[4], f[5] = append(f[4], f[5][:1]...), f[5][1:]
			return f
		}, Limits{}, ErrMalformed}, // the signature is right, but the JSON is malformed
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := NewSigner(pythonKey).Decode(tc.change(signedByPython()), tc.limits)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if tc.name == "no content" && !strings.HasSuffix(err.Error(), "4 frames after <IDS|MSG>, at least 5 are needed") {
				t.Error(err)
			}
			if at, err := split(tc.change(signedByPython()), tc.limits); err != nil && at != 0 {
				t.Errorf("delimiter at %d beside %v", at, err)
			}
			// The transport verifies without parsing.
			if err := NewSigner(pythonKey).Verify(tc.change(signedByPython()), tc.limits); tc.name != "shifted parts" && !errors.Is(err, tc.want) {
				t.Errorf("Verify: got %v, want %v", err, tc.want)
			}
		})
	}
}

// A frame after the first delimiter that looks like one is a part of the message.
func TestTwoDelimiters(t *testing.T) {
	m := Message{Header: Header{MsgID: "1", MsgType: "t"}, Buffers: [][]byte{[]byte(Delimiter), {}, {}, {}, {}, {}}}
	for _, identities := range [][][]byte{nil, {[]byte("a")}} {
		m.Identities = identities
		frames, err := NewSigner("key").Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewSigner("key").Decode(frames, Limits{})
		if err != nil || len(got.Identities) != len(identities) || len(got.Buffers) != len(m.Buffers) || got.Header.MsgID != "1" {
			t.Errorf("%d identities and %d buffers, %v; want %d and %d", len(got.Identities), len(got.Buffers), err, len(identities), len(m.Buffers))
		}
	}
}

func TestMalformed(t *testing.T) {
	good := [4]string{`{"msg_id":"1","msg_type":"t"}`, `{}`, `{}`, `{}`}
	for _, tc := range []struct {
		name string
		part int
		text string
		want error // nil: the message is accepted
	}{
		{"as it should be", 0, good[0], nil},
		{"unknown fields", 0, `{"msg_id":"1","msg_type":"t","subshell_id":{"a":[1]}}`, nil},
		{"username null", 0, `{"msg_id":"1","msg_type":"t","username":null}`, nil},
		{"date that nobody can read", 0, `{"msg_id":"1","msg_type":"t","date":"yesterday"}`, nil},
		{"empty header", 0, `{}`, ErrMalformed},
		{"no msg_type", 0, `{"msg_id":"1"}`, ErrMalformed},
		{"header null", 0, `null`, ErrMalformed},
		{"header a number", 0, `1`, ErrMalformed},
		{"no header", 0, ``, ErrMalformed},
		{"header cut short", 0, `{"msg_id":"1"`, ErrMalformed},
		{"header and more", 0, `{"msg_id":"1","msg_type":"t"}{}`, ErrMalformed},
		{"header not UTF-8", 0, "{\"msg_id\":\"1\",\"msg_type\":\"\xff\"}", ErrMalformed},
		{"msg_id a number", 0, `{"msg_id":1,"msg_type":"t"}`, ErrMalformed},
		{"huge header", 0, `{"msg_id":"` + strings.Repeat("x", maxHeader) + `","msg_type":"t"}`, ErrTooLarge},
		{"largest header", 0, `{"msg_type":"t","msg_id":"` + strings.Repeat("x", maxHeader-len(`{"msg_type":"t","msg_id":""}`)) + `"}`, nil},
		{"parent a list", 1, `[]`, ErrMalformed},
		{"parent's msg_id a number", 1, `{"msg_id":1}`, ErrMalformed},
		{"parent without msg_id", 1, `{"x":1}`, nil},
		{"metadata a string", 2, `"{}"`, ErrMalformed},
		{"metadata cut short", 2, `{"a":`, ErrMalformed},
		{"content a list", 3, `[]`, ErrMalformed},
		{"content cut short", 3, `{`, nil},
		{"content with space", 3, " \n{}", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parts := good
			parts[tc.part] = tc.text
			frames := [][]byte{[]byte(Delimiter), {}}
			for _, p := range parts {
				frames = append(frames, []byte(p))
			}
			if _, err := NewSigner("").Decode(frames, Limits{}); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestReplay(t *testing.T) {
	s := NewSigner(pythonKey)
	if err := s.Verify(signedByPython(), Limits{}); err != nil {
		t.Fatal(err)
	}
	upper := signedByPython()
	upper[2] = bytes.ToUpper(upper[2])
	upper[0] = []byte("other")
	for _, frames := range [][][]byte{signedByPython(), upper} {
		if err := s.Verify(frames, Limits{}); !errors.Is(err, ErrReplayed) {
			t.Errorf("a second time: %v, want ErrReplayed", err)
		}
	}
	// The signature of a refused message is not remembered.
	s = NewSigner(pythonKey)
	forged := signedByPython()
	forged[6] = []byte("{}")
	if err := s.Verify(forged, Limits{}); !errors.Is(err, ErrSignature) {
		t.Error(err)
	}
	if err := s.Verify(signedByPython(), Limits{}); err != nil {
		t.Errorf("after a forgery: %v", err)
	}
}

// A Signer remembers a bounded number of signatures, and at least memory of
// them.
func TestMemory(t *testing.T) {
	s := NewSigner("key")
	var sum [32]byte
	for i := range 3*memory + 5 {
		sum[0], sum[1], sum[2] = byte(i), byte(i>>8), byte(i>>16)
		if err := s.remember(sum); err != nil {
			t.Fatalf("signature %d: %v", i, err)
		}
	}
	if len(s.recent) != 5 || len(s.older) != memory {
		t.Errorf("%d and %d signatures are remembered, want 5 and %d", len(s.recent), len(s.older), memory)
	}
	for i := 2*memory + 5; i < 3*memory+5; i++ {
		sum[0], sum[1], sum[2] = byte(i), byte(i>>8), byte(i>>16)
		if err := s.remember(sum); !errors.Is(err, ErrReplayed) {
			t.Fatalf("signature %d has been forgotten", i)
		}
	}
}

func TestUnsigned(t *testing.T) {
	m, err := New(NewHeader("s", "u", "status"), Header{}, map[string]string{"execution_state": "idle"})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSigner("")
	frames, err := s.Encode(m)
	if err != nil || len(frames[1]) != 0 {
		t.Fatalf("signature %q, %v; want none", frames[1], err)
	}
	for range 2 { // without signatures a replay cannot be detected
		if _, err := s.Decode(frames, Limits{}); err != nil {
			t.Error(err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, content := range []any{make(chan int), []int{1}, "text", func() {}} {
		if m, err := New(Header{MsgType: "stream"}, Header{}, content); err == nil {
			t.Errorf("content %T: got %s, want an error", content, m.Content)
		} else if !strings.Contains(err.Error(), "stream") {
			t.Errorf("content %T: %v does not name the message", content, err)
		}
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function was encoded")
	}
	if _, err := NewSigner("").Encode(Message{Content: json.RawMessage("[]")}); err == nil {
		t.Error("a content that is a list was encoded")
	}
	if err := (Message{Header: Header{MsgType: "stream"}, Content: json.RawMessage(`{"a":`)}).Unmarshal(new(any)); err == nil || !strings.Contains(err.Error(), "content of stream") {
		t.Errorf("half a content: %v", err)
	}
}

func ExampleNew() {
	request := Header{MsgID: "7", MsgType: "execute_request", Session: "client"}
	m, err := New(NewHeader("kernel", "dace", "execute_result"), request, map[string]any{
		"execution_count": 1,
		"data":            map[string]string{"text/html": "<b>bold</b>"},
		"metadata":        struct{}{},
	})
	fmt.Println(m.Header.MsgType, "for", m.Parent.MsgID, err)
	fmt.Printf("%s\n", m.Content)
	// Output:
	// execute_result for 7 <nil>
	// {"data":{"text/html":"<b>bold</b>"},"execution_count":1,"metadata":{}}
}

// Decoding an encoded message gives the same message.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		b := make([]rune, rng.IntN(20))
		for i := range b {
			b[i] = rune(rng.IntN(0x2000) + 1)
		}
		return string(b)
	}
	out, in := NewSigner("key"), NewSigner("key")
	for range 500 {
		h := NewHeader(text(), text(), "t"+text())
		h.Date = h.Date.Truncate(time.Microsecond)
		m, err := New(h, NewHeader(text(), text(), text()), map[string]string{text(): text()})
		if err != nil {
			t.Fatal(err)
		}
		m.Identities, m.Buffers = [][]byte{}, [][]byte{}
		for range rng.IntN(3) {
			m.Identities = append(m.Identities, []byte(text()))
		}
		for range rng.IntN(30) { // a widget sends many
			m.Buffers = append(m.Buffers, []byte(text()))
		}
		frames, err := out.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := in.Decode(frames, Limits{})
		if err != nil {
			t.Fatalf("%q: %v", frames, err)
		}
		got.Header.Raw = nil
		if !reflect.DeepEqual(got.Header, m.Header) || got.Parent.MsgID != m.Parent.MsgID || !bytes.Equal(got.Content, m.Content) ||
			!reflect.DeepEqual(got.Identities, m.Identities) || !reflect.DeepEqual(got.Buffers, m.Buffers) {
			t.Fatalf("got %+v\nwant %+v", got, m)
		}
	}
}

func TestHeaderIDs(t *testing.T) {
	counter.Store(14)
	a, b := NewHeader("s", "u", "t"), NewHeader("s", "u", "t")
	if want := fmt.Sprintf("s_%d_16", os.Getpid()); b.MsgID != want {
		t.Errorf("the 16th message is %s, not %s", b.MsgID, want)
	}
	if one, two := NewSession(), NewSession(); a.MsgID == b.MsgID || one == two {
		t.Error("ids are not unique")
	}
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	var digits [32]string // those in each place, of all sessions
	for range 1000 {      // one of 16 digits is in none with probability 1e-28
		id := NewSession()
		if !form.MatchString(id) {
			t.Fatalf("the session %s is no random UUID", id)
		}
		for i, d := range strings.ReplaceAll(id, "-", "") {
			digits[i] += string(d)
		}
	}
	for i, d := range digits {
		if slices.Contains(digits[:i], d) {
			t.Errorf("digit %d of a session is always that of another place", i)
		}
		values := map[rune]bool{}
		for _, v := range d {
			values[v] = true
		}
		want := 16
		switch i {
		case 12: // the version, see form
			want = 1
		case 16: // the variant
			want = 4
		}
		if len(values) != want {
			t.Errorf("digit %d of a session takes %d values, not %d", i, len(values), want)
		}
	}
	data, err := json.Marshal(Header{MsgID: "1", Session: "s", Username: "u", MsgType: "t", Version: Version,
		Date: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))})
	const want = `{"msg_id":"1","session":"s","username":"u","date":"2026-01-02T02:04:05.000006Z","msg_type":"t","version":"5.5"}`
	if err != nil || string(data) != want {
		t.Errorf("got %s, %v; want %s", data, err, want)
	}
}

// FuzzDecode splits its input into frames at newlines, signs them correctly,
// and checks that an accepted message survives a round trip.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("ident\n<IDS|MSG>\nsig\n{\"msg_id\":\"1\",\"msg_type\":\"t\"}\n{}\n{}\n{}\nbuffer"))
	f.Add(bytes.Join(signedByPython(), []byte("\n")))
	f.Add([]byte("<IDS|MSG>\n\n{\"msg_id\":\"1\",\"msg_type\":\"t\",\"x\":1}\n{\"date\":\"x\"} \n{ }\n{"))
	f.Add(bytes.Repeat([]byte("\n"), 2000))
	f.Fuzz(func(t *testing.T, data []byte) {
		frames := bytes.Split(data, []byte("\n"))
		if _, err := NewSigner("key").Decode(frames, Limits{}); err == nil {
			t.Fatal("a message without a proper signature is accepted")
		}
		m, err := Parse(frames, Limits{})
		if err != nil {
			return
		}
		again, err := NewSigner("key").Encode(m)
		if err != nil {
			t.Fatalf("accepted, but cannot be encoded: %v", err)
		}
		got, err := NewSigner("key").Decode(again, Limits{})
		if err != nil {
			t.Fatalf("encoded to %q: %v", again, err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("got %+v\nwant %+v", got, m)
		}
	})
}

// A message as large as the limits allow is taken, and one byte or frame more is not.
func TestLimitsExactly(t *testing.T) {
	if got, want := (Limits{}).withDefaults(), (Limits{Frames: 1024, Size: 256 << 20}); got != want {
		t.Errorf("by default %+v, want %+v", got, want)
	}
	s := NewSigner("k") // the shortest key signs, too
	frames, err := s.Encode(Message{Header: NewHeader("s", "u", "x_request"), Buffers: [][]byte{make([]byte, 100)}})
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, f := range frames {
		size += int64(len(f))
	}
	for _, c := range []struct {
		limits Limits
		want   error
	}{
		{Limits{Frames: len(frames) - 1, Size: size}, ErrTooLarge},
		{Limits{Frames: len(frames), Size: size - 1}, ErrTooLarge},
		{Limits{Frames: len(frames), Size: size}, nil},
		{Limits{Frames: len(frames), Size: size}, ErrReplayed},
	} {
		if _, err := s.Decode(frames, c.limits); !errors.Is(err, c.want) {
			t.Errorf("%d frames of %d bytes with the limits %+v: %v", len(frames), size, c.limits, err)
		}
	}
}
