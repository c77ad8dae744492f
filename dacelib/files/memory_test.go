package files

import (
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
)

type endless struct{ n int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.n += int64(len(b))
	return len(b), nil
}

// TestReader reads without end under a limit: reading stops before the memory is
// used up, and says so.
func TestReader(t *testing.T) {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(s)
	const more = 64 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(s[0].Value.Uint64()) + more))
	e := &endless{}
	_, err := io.Copy(io.Discard, Reader(e, 2))
	if err == nil || !strings.Contains(err.Error(), "there is no memory for it") {
		t.Fatalf("the error is %v", err)
	}
	if e.n < more/8 || e.n > more {
		t.Errorf("%d bytes are read of %d", e.n, more)
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(large); err != nil || len(b) > 0 {
		t.Errorf("an empty file: %q, %v", b, err)
	}
	if err := os.Truncate(large, 2*more); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(large); err == nil || !strings.Contains(err.Error(), "it would take 128 MB") {
		t.Errorf("a large file: %v", err)
	}
	if _, err := ReadFile("/dev/zero"); err == nil || !strings.Contains(err.Error(), "there is no memory") {
		t.Errorf("a device: %v", err)
	}
}
