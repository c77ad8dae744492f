// Package snap reads and fetches networks in the text format of the Stanford
// Network Analysis Project: each line is an edge, as two node ids separated by
// blanks, or a comment that begins with #. Files are plain or compressed with
// gzip.
//
// Start with [Load], which reads one of the paper's three networks from the
// folder that [Dir] names and verifies it; [Fetch] downloads them. [ReadFile]
// reads any other network in this format.
package snap

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dace.local/dacelib/files"
)

// An EdgeList is a network as it is stored in its file.
type EdgeList struct {
	// IDs holds the file's node ids, ascending: node i has the id IDs[i].
	IDs []int64
	// Edges holds the edges in the order of the file, as pairs of nodes 0 to
	// len(IDs)-1. Nothing is dropped: loops and repeated edges are kept.
	Edges [][2]int32
}

// A LineError reports the lines of a file that are not edges.
type LineError struct {
	// Lines holds the numbers of the first bad lines, at most ten, counted from
	// 1; Reasons says what is wrong with each.
	Lines   []int
	Reasons []string
	// Bad is the number of all bad lines.
	Bad int
}

// Error returns the message, with one line of text for each line in Lines.
func (e *LineError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bad line", e.Bad)
	if e.Bad != 1 {
		b.WriteByte('s')
	}
	for i, n := range e.Lines {
		fmt.Fprintf(&b, "\nline %d: %s", n, e.Reasons[i])
	}
	if more := e.Bad - len(e.Lines); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

func (e *LineError) add(line int, format string, args ...any) {
	if e.Bad++; len(e.Lines) < 10 {
		e.Lines = append(e.Lines, line)
		e.Reasons = append(e.Reasons, fmt.Sprintf(format, args...))
	}
}

// maxLine is the maximal length of a line, comments included.
const maxLine = 1 << 16

// maxRatio is the maximal ratio of uncompressed to compressed bytes, beyond the
// first maxFree bytes of text. The paper's three networks have a ratio of 4;
// gzip can reach 1032, at which 23 KB could fill the memory.
const (
	maxRatio = 100
	maxFree  = 1 << 20
)

// Read reads a network; gzip is recognised by its first bytes. Lines that are
// neither edges nor comments nor blank are a [*LineError]. A gzip file whose
// text is more than a hundred times its size is refused.
func Read(r io.Reader) (*EdgeList, error) { return read(r, math.MaxInt64) }

// A counter counts the bytes read through it.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// read reads a network whose text may have at most limit bytes.
func read(r io.Reader, limit int64) (*EdgeList, error) {
	file := &counter{Reader: r}
	in := bufio.NewReaderSize(file, maxLine)
	compressed := false
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("not a gzip file: %w", err)
		}
		in, compressed = bufio.NewReaderSize(z, maxLine), true
	}
	var (
		pairs [][2]int64
		bad   LineError
		size  int64
		next  int // edges after which the memory is looked at
	)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("line %d is longer than %d bytes: this is no list of edges", n, maxLine)
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		size += int64(len(line))
		if size > limit {
			return nil, fmt.Errorf("line %d: the text is longer than %d bytes, twice what the network has: this is another file", n, limit)
		}
		if compressed && size > maxFree && size/maxRatio > file.n {
			return nil, fmt.Errorf("line %d: more than %d bytes of text for each byte of gzip: this is no list of edges; unpack it with gunzip if you know that it is", n, maxRatio)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			if u, v, why := edge(line); why != "" {
				bad.add(n, "%s", why)
			} else {
				if pairs = append(pairs, [2]int64{u, v}); len(pairs) > next {
					const each = 64 // bytes of an edge in the list, and in the network
					if err := files.Need(each * int64(len(pairs))); err != nil {
						return nil, fmt.Errorf("line %d: %w", n, err)
					}
					next = len(pairs)*5/4 + 1<<16
				}
			}
		}
		if err == io.EOF {
			break
		}
	}
	if bad.Bad > 0 {
		return nil, &bad
	}
	return relabel(pairs)
}

// edge parses the two ids of a line, or returns why it cannot.
func edge(line []byte) (u, v int64, why string) {
	u, rest, ok := id(line)
	if ok {
		v, rest, ok = id(rest)
	}
	if !ok || len(rest) > 0 {
		if len(line) > 60 {
			line = append(line[:60:60], "..."...)
		}
		return 0, 0, fmt.Sprintf("%q is not two node ids", line)
	}
	return u, v, ""
}

// id parses a number at the front of b and skips the blanks behind it.
func id(b []byte) (v int64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && '0' <= b[i] && b[i] <= '9'; i++ {
		c := int64(b[i] - '0')
		if v > (math.MaxInt64-c)/10 {
			return 0, nil, false
		}
		v = v*10 + c
	}
	if i == 0 || i < len(b) && b[i] != ' ' && b[i] != '\t' {
		return 0, nil, false
	}
	return v, bytes.TrimLeft(b[i:], " \t"), true
}

func relabel(pairs [][2]int64) (*EdgeList, error) {
	rank := make(map[int64]int32, len(pairs)/4)
	for _, e := range pairs {
		rank[e[0]], rank[e[1]] = 0, 0
	}
	if len(rank) > math.MaxInt32 {
		return nil, fmt.Errorf("%d nodes are too many", len(rank))
	}
	l := &EdgeList{IDs: make([]int64, 0, len(rank)), Edges: make([][2]int32, len(pairs))}
	for v := range rank {
		l.IDs = append(l.IDs, v)
	}
	slices.Sort(l.IDs)
	for i, v := range l.IDs {
		rank[v] = int32(i)
	}
	for i, e := range pairs {
		l.Edges[i] = [2]int32{rank[e[0]], rank[e[1]]}
	}
	return l, nil
}

// ReadFile reads a network from a file, plain or gzip. If the file has the name
// of one of the [Datasets], its checksum must be that of the network.
func ReadFile(path string) (*EdgeList, error) {
	for _, d := range Datasets() {
		if base := filepath.Base(path); base == d.File || base+".gz" == d.File {
			return d.read(path)
		}
	}
	return readFile(path, math.MaxInt64)
}

// readFile reads a file whose text may have at most limit bytes.
func readFile(path string, limit int64) (*EdgeList, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := read(f, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// Checksum returns the SHA-256, in hex, of the edges written as lines "u v\n"
// with the file's ids, sorted by u, then v, as numbers. It does not depend on
// comments, blanks, the order of the lines or the compression.
func (l *EdgeList) Checksum() string {
	sorted := slices.Clone(l.Edges)
	slices.SortFunc(sorted, func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	h := sha256.New()
	w := bufio.NewWriter(h)
	line := make([]byte, 0, 48)
	for _, e := range sorted {
		line = strconv.AppendInt(line[:0], l.IDs[e[0]], 10)
		line = append(line, ' ')
		line = strconv.AppendInt(line, l.IDs[e[1]], 10)
		w.Write(append(line, '\n'))
	}
	w.Flush()
	return hex.EncodeToString(h.Sum(nil))
}
