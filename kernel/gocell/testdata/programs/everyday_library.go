package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"
)

// Functions of libraries that loops over text and numbers call, by all the lists of
// parameters and results that they have.
func main() {
	w := os.Stdout
	s := fmt.Sprintf("%d-%s;%5.2f", 7, "x", 2.5)
	fmt.Fprintln(w, s, strings.Split(s, "-"), strings.Join([]string{"a", "b"}, ", "), strings.Repeat("ab", 3))
	fmt.Fprintln(w, strings.IndexByte(s, ';'), strings.IndexFunc(s, unicode.IsLetter), strings.FieldsFunc("a1b22c", unicode.IsDigit))
	fmt.Fprintln(w, strconv.FormatInt(-255, 16), sort.Search(100, func(i int) bool { return i*i >= 50 }))
	fmt.Fprintln(w, math.IsInf(math.Inf(-1), -1), math.IsInf(math.Inf(-1), 1))
	f, err := strconv.ParseFloat("1.5e3", 64)
	fmt.Fprintln(w, f, err)
	_, err = strconv.ParseFloat("x", 32)
	fmt.Fprintln(w, err)
	n, err := io.WriteString(w, "written\n")
	fmt.Fprintln(w, n, err)
	line, err := bufio.NewReader(strings.NewReader("one\ntwo")).ReadString('\n')
	fmt.Fprintf(w, "%q %v\n", line, err)
	rest, found := strings.CutPrefix("prefixed", "pre")
	fmt.Fprintln(w, rest, found)
	whole, part := math.Modf(-3.25)
	fmt.Fprintln(w, whole, part)
	before, after, ok := strings.Cut("key=value", "=")
	fmt.Fprintln(w, before, after, ok)
	before, _, ok = strings.Cut("key", "=")
	fmt.Fprintln(w, before, ok)
	fmt.Fprintln(w, strings.ReplaceAll("a-b-c", "-", "+"), strings.Replace("a-b-c", "-", "+", 1), strings.SplitN("a-b-c", "-", 2))
	var count int64 = 3
	var narrow int32 = -1
	fmt.Fprintln(w, atomic.CompareAndSwapInt64(&count, 3, 4), atomic.CompareAndSwapInt64(&count, 3, 5), count)
	fmt.Fprintln(w, atomic.CompareAndSwapInt32(&narrow, -1, 9), narrow)
	a, b := big.NewInt(0), big.NewInt(1)
	for range 100 {
		a.Add(a, b)
		a, b = b, a
	}
	fmt.Fprintln(w, a, b)
	i, err := strconv.ParseInt("-7f", 16, 64)
	fmt.Fprintln(w, i, err)
	fmt.Fprintln(w, strconv.FormatFloat(1.0/3, 'f', 4, 64), strconv.FormatFloat(1.0/3, 'e', -1, 32))
	func() {
		defer func() { fmt.Fprintln(w, recover()) }()
		fmt.Fprintln(w, strings.Repeat("x", -1))
	}()
}
