// Package snap reads and fetches networks in the text format of the Stanford
// Network Analysis Project: one edge a line, two node ids separated by blanks,
// with comment lines that begin with #, plain or compressed with gzip.
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
	"slices"
	"strconv"
	"strings"
)

// An EdgeList is a network as its file gives it.
type EdgeList struct {
	// IDs holds the ids of the file, ascending: node i is IDs[i] there.
	IDs []int64
	// Edges holds the edges in the order of the file, as nodes 0 to
	// len(IDs)-1. Nothing is dropped: loops and repeated edges are kept.
	Edges [][2]int32
}

// A LineError says which lines of a file are no edges.
type LineError struct {
	// Lines holds the numbers of the first of them, at most ten, counted
	// from 1, and Reasons what is wrong with each.
	Lines   []int
	Reasons []string
	// Bad is the number of all of them.
	Bad int
}

// Error returns the message: one line of text for each line of the file.
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

// maxLine bounds the length of a line, comments included.
const maxLine = 1 << 16

// Read reads a network; gzip is recognised by its first bytes. Lines that are
// neither edges nor comments nor blank are a [*LineError].
func Read(r io.Reader) (*EdgeList, error) {
	in := bufio.NewReaderSize(r, maxLine)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("not a gzip file: %w", err)
		}
		in = bufio.NewReaderSize(z, maxLine)
	}
	var (
		pairs [][2]int64
		bad   LineError
	)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("line %d is longer than %d bytes: this is no list of edges", n, maxLine)
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			if u, v, why := edge(line); why != "" {
				bad.add(n, "%s", why)
			} else {
				pairs = append(pairs, [2]int64{u, v})
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

// edge reads the two ids of a line, or says why it cannot.
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

// id cuts a number and the blanks behind it from the front of b.
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

// ReadFile reads a network from a file, plain or gzip.
func ReadFile(path string) (*EdgeList, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// Checksum returns the SHA-256, in hex, of the edges as lines "u v\n" of the
// file's ids, in ascending order of u, then v, as numbers. Comments,
// blanks, the order of the lines and the compression do not matter to it.
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
