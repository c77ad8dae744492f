package limits

import (
	"fmt"
	"io"
	"runtime/metrics"
)

// Reader returns a reader of r whose bytes are kept in memory. It fails when the
// memory that is left is no longer enough to go on.
func Reader(r io.Reader) io.Reader { return &bounded{r: r, next: 1 << 20} }

// Each byte read takes up to three more while a slice of what was read grows.
const timesRead = 3

type bounded struct {
	r    io.Reader
	n    int64
	next int64 // bytes after which the memory is looked at
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.n += int64(n); b.n > b.next {
		if err := Left(b.n * timesRead / 2); err != nil {
			return n, fmt.Errorf("after %s: %w", Bytes(float64(b.n)), err)
		}
		b.next = b.n + b.n/4 + 1<<20
	}
	return n, err
}

// Left returns an error if less memory than a number of bytes is left, besides what
// is kept free for others: an eighth of all, half a gigabyte at most.
func Left(bytes int64) error {
	s := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(s)
	l := Memory()
	if have := l.Available + int64(s[0].Value.Uint64()) - min(l.Total/8, 512<<20); bytes > have {
		return fmt.Errorf("there is no memory for more: of the memory of %s, %s of %s are available", l.Name, Bytes(float64(l.Available)), Bytes(float64(l.Total)))
	}
	return nil
}
