package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"
)

type rot13 struct{ r io.Reader }

func (r rot13) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	for i, c := range p[:n] {
		switch {
		case c >= 'a' && c <= 'z':
			p[i] = 'a' + (c-'a'+13)%26
		case c >= 'A' && c <= 'Z':
			p[i] = 'A' + (c-'A'+13)%26
		}
	}
	return n, err
}

type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

func main() {
	sc := bufio.NewScanner(strings.NewReader("one two\nthree\n\nfour"))
	lines := 0
	for sc.Scan() {
		lines++
		fmt.Printf("%d %q\n", lines, sc.Text())
	}
	sc = bufio.NewScanner(strings.NewReader("the quick  brown"))
	sc.Split(bufio.ScanWords)
	for sc.Scan() {
		fmt.Print(sc.Text(), "|")
	}
	fmt.Println()
	sc = bufio.NewScanner(strings.NewReader("a,b,c"))
	sc.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, ','); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			return len(data), data, bufio.ErrFinalToken
		}
		return 0, nil, nil
	})
	for sc.Scan() {
		fmt.Print("<", sc.Text(), ">")
	}
	fmt.Println(sc.Err())
	b, _ := io.ReadAll(rot13{strings.NewReader("Uryyb!")})
	fmt.Println(string(b))
	c := &counter{w: os.Stdout}
	fmt.Fprintf(c, "hello %d\n", 5)
	io.Copy(c, rot13{strings.NewReader("abc\n")})
	fmt.Println(c.n)
	w := bufio.NewWriter(c)
	w.WriteString("buffered ")
	fmt.Println(c.n, w.Buffered())
	w.Flush()
	fmt.Println(c.n)
	r := bufio.NewReader(strings.NewReader("line1\nline2"))
	for {
		s, err := r.ReadString('\n')
		fmt.Printf("%q %v\n", s, err)
		if err == io.EOF {
			break
		}
	}
	var a, d int
	var s string
	n, err := fmt.Sscanf("10-abc-20", "%d-%3s-%d", &a, &s, &d)
	fmt.Println(n, err, a, s, d)
	fmt.Sscan("7 8 nine", &a, &d, &s)
	fmt.Println(a, d, s)
	cr := csv.NewReader(strings.NewReader("x,\"y,z\"\n1,2\n"))
	for {
		rec, err := cr.Read()
		if err == io.EOF {
			break
		}
		fmt.Println(len(rec), rec)
	}
	pr, pw := io.Pipe()
	go func() {
		fmt.Fprint(pw, "through a pipe")
		pw.Close()
	}()
	b, _ = io.ReadAll(pr)
	fmt.Println(string(b))
	var buf bytes.Buffer
	mw := io.MultiWriter(&buf, c)
	fmt.Fprint(mw, "multi\n")
	tr := io.TeeReader(io.LimitReader(strings.NewReader("limited"), 3), &buf)
	io.ReadAll(tr)
	fmt.Println(buf.String(), c.n)
	cw := csv.NewWriter(os.Stdout)
	cw.Write([]string{"a b", "c,d", `q"q`})
	cw.Flush()
}
