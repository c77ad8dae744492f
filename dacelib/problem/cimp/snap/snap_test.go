package snap

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dace.local/dacelib/run"
)

const small = "# a comment\n10\t30\n30 20\r\n\n  20  10 \n# more\n10 30"

func zip(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.Bytes()
}

func TestRead(t *testing.T) {
	want := &EdgeList{IDs: []int64{10, 20, 30}, Edges: [][2]int32{{0, 2}, {2, 1}, {1, 0}, {0, 2}}}
	for _, in := range [][]byte{[]byte(small), zip(small)} {
		got, err := Read(bytes.NewReader(in))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	a, _ := Read(strings.NewReader("1 2\n3 1\n1 10\n"))
	b, _ := Read(strings.NewReader("# other order\n1\t10\n1\t2\n3\t1\n"))
	// printf '1 2\n1 10\n3 1\n' | sha256sum
	const sum = "3f475c76ccb0f03dcb4101b16ceedff9b1dda3679b5bb4d5ff21157445c18536"
	if a.Checksum() != b.Checksum() || a.Checksum() != sum {
		t.Errorf("checksums %s and %s, want %s", a.Checksum(), b.Checksum(), sum)
	}
}

func TestReadErrors(t *testing.T) {
	_, err := Read(strings.NewReader("1 2\nx 3\n4\n5 6 7\n-1 2\n99999999999999999999 1\n1,2\n"))
	var bad *LineError
	if !errors.As(err, &bad) || bad.Bad != 6 || !reflect.DeepEqual(bad.Lines, []int{2, 3, 4, 5, 6, 7}) {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "line 3: \"4\" is not two node ids") {
		t.Error(err)
	}
	_, err = Read(strings.NewReader(strings.Repeat("bad\n", 50)))
	if !errors.As(err, &bad) || bad.Bad != 50 || len(bad.Lines) != 10 || !strings.Contains(err.Error(), "and 40 more") {
		t.Error(err)
	}
	if _, err = Read(strings.NewReader("1 2\n#" + strings.Repeat("x", 1<<17))); err == nil || !strings.Contains(err.Error(), "line 2 ") {
		t.Error(err)
	}
	z := zip(strings.Repeat("1 2\n", 100))
	if _, err = Read(bytes.NewReader(z[:len(z)-10])); err == nil || !strings.Contains(err.Error(), "line ") {
		t.Error("a gzip file cut short:", err)
	}
	if _, err = ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestTooLong checks that a server or a file that sends more than the network's
// data is stopped at twice the network's size, before memory or disk is full.
func TestTooLong(t *testing.T) {
	var sent atomic.Int64
	flood := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for chunk := make([]byte, 1<<20); sent.Load() < 200<<20; sent.Add(int64(len(chunk))) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer flood.Close()
	dir := t.TempDir()
	_, err := Fetch(t.Context(), "wiki", FetchSettings{Dir: dir, URL: flood.URL})
	if err == nil || !strings.Contains(err.Error(), "sends more than 1982286 bytes") {
		t.Errorf("200 MiB for a network of 1 MB: %v", err)
	}
	flood.CloseClientConnections()
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d MiB were taken", n>>20)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 1 {
		t.Errorf("%q is left", left)
	} else if len(left) == 1 {
		if info, err := os.Stat(left[0]); err != nil || info.Size() > 0 {
			t.Errorf("%s has %d bytes", left[0], info.Size())
		}
	}
	bomb := zip(strings.Repeat("1 2\n", 8<<20)) // 32 MiB of text
	for _, c := range []struct{ name, want string }{
		{"network.txt.gz", "more than 100 bytes of text for each byte of gzip"},
		{"wiki-Vote.txt.gz", "the text is longer than 1982286 bytes"},
	} {
		name := filepath.Join(dir, c.name)
		if err := os.WriteFile(name, bomb, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %d bytes: %v, want %q", c.name, len(bomb), err, c.want)
		}
	}
	name := filepath.Join(dir, "wiki-Vote.txt")
	if err := os.WriteFile(name, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(name); err == nil || !strings.Contains(err.Error(), "is not the network wiki") {
		t.Errorf("another network under a name that is known: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add(zip(small))
	f.Add([]byte("9223372036854775807 9223372036854775808"))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Read(io.LimitReader(bytes.NewReader(b), 1<<16))
		if err != nil {
			return
		}
		// An accepted network can be written and read again.
		var out strings.Builder
		for _, e := range l.Edges {
			fmt.Fprintf(&out, "%d %d\n", l.IDs[e[0]], l.IDs[e[1]])
		}
		again, err := Read(strings.NewReader(out.String()))
		if err != nil || again.Checksum() != l.Checksum() || len(again.IDs) != len(l.IDs) {
			t.Errorf("%q: %v", b, err)
		}
	})
}

// A server serves one file and breaks off after some bytes, as often as set.
type server struct {
	body    []byte
	breaks  int
	ranges  []string
	noRange bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	if s.noRange {
		r.Header.Del("Range")
	}
	if s.breaks > 0 {
		s.breaks--
		w.Header().Set("Content-Length", fmt.Sprint(len(s.body)))
		w.Write(s.body[:len(s.body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.body))
}

// serve serves body as the network wiki. The result is checked against the real
// checksum, so only errors and resuming can be tested with it; TestFetchReal
// tests success.
func serve(t *testing.T, s *server) string {
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return h.URL
}

func TestFetchErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Fetch(context.Background(), "nowhere", FetchSettings{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "wiki, facebook, epinions") {
		t.Error(err)
	}
	other := serve(t, &server{body: zip(small)})
	_, err = Fetch(context.Background(), "wiki", FetchSettings{Dir: dir, URL: other})
	if err == nil || !strings.Contains(err.Error(), "checksum") || !strings.Contains(err.Error(), "By hand") {
		t.Error(err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	if _, err = Fetch(context.Background(), "wiki", FetchSettings{Dir: dir, URL: gone.URL}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
	if _, err = Fetch(context.Background(), "wiki", FetchSettings{Dir: dir, URL: "http://127.0.0.1:1/"}); err == nil || !strings.Contains(err.Error(), "DACE_DATA") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = Fetch(ctx, "wiki", FetchSettings{Dir: dir, URL: other}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, ok := mustFind(t, "wiki").locate(dir); ok {
		t.Error("a file with a wrong checksum has the network's name")
	}
}

func mustFind(t *testing.T, name string) Dataset {
	t.Helper()
	d, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLoadMissing(t *testing.T) {
	t.Setenv("DACE_DATA", t.TempDir())
	var missing *MissingError
	if _, err := Load("wiki"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "dace data fetch wiki") {
		t.Error(err)
	}
}

// TestDownload interrupts a download and resumes it, with a server that
// supports ranges and with one that does not.
func TestDownload(t *testing.T) {
	body := []byte(strings.Repeat("0123456789", 10_000))
	for _, noRange := range []bool{false, true} {
		s := &server{body: body, breaks: 1, noRange: noRange}
		d := Dataset{Name: "test", URL: serve(t, s), Size: int64(len(body))}
		part := filepath.Join(t.TempDir(), "part")
		var last run.Event
		f := FetchSettings{OnEvent: func(e run.Event) { last = e }}
		if _, err := f.download(context.Background(), d, part); err == nil {
			t.Fatal("a broken download: no error")
		}
		for range 2 { // the second time nothing is missing any more
			if _, err := f.download(context.Background(), d, part); err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(part)
			if !bytes.Equal(got, body) {
				t.Fatalf("%d bytes, want %d", len(got), len(body))
			}
		}
		if last.Step != len(body) || last.Total != len(body) {
			t.Errorf("last event %+v", last)
		}
		if want := fmt.Sprintf("bytes=%d-", len(body)/2); s.ranges[1] != want {
			t.Errorf("asked for %q, want %q", s.ranges[1], want)
		}
	}
}

// TestFetchReal serves the real files, if they are on this computer, and checks
// a partial file of other content, a resumed download, and verification.
func TestFetchReal(t *testing.T) {
	d := mustFind(t, "wiki")
	path, there, err := d.Path()
	if err != nil || !there {
		t.Skip("not fetched: ", path, err)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, &server{body: body})
	for name, begin := range map[string][]byte{"new": nil, "resumed": body[:len(body)/3], "spoilt": bytes.Repeat([]byte("x"), len(body)/3)} {
		dir := t.TempDir()
		if begin != nil {
			if err := os.WriteFile(filepath.Join(dir, d.File+".part"), begin, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			got, err := Fetch(context.Background(), "wiki", FetchSettings{Dir: dir, URL: url})
			if err != nil || got != filepath.Join(dir, d.File) {
				t.Fatalf("%s: %s, %v", name, got, err)
			}
		}
		if files, _ := os.ReadDir(dir); len(files) != 1 {
			t.Errorf("%s: %d files are left", name, len(files))
		}
	}
	for _, d := range Datasets() {
		l, err := Load(d.Name)
		var missing *MissingError
		if errors.As(err, &missing) {
			continue
		}
		if err != nil || len(l.IDs) != d.Nodes || len(l.Edges) != d.Lines {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

func ExampleRead() {
	l, err := Read(strings.NewReader("# three people\n7 9\n9 8\n"))
	fmt.Println(l.IDs, l.Edges, err)
	_, err = Read(strings.NewReader("7 9\n9 eight\n"))
	fmt.Println(err)
	// Output:
	// [7 8 9] [[0 2] [2 1]] <nil>
	// 1 bad line
	// line 2: "9 eight" is not two node ids
}
