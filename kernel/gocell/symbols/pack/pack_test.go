package pack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var list []File
	for i := range 50 {
		b := make([]byte, r.IntN(300))
		for j := range b {
			b[j] = byte(r.IntN(4))
		}
		list = append(list, File{fmt.Sprint("a/b", i), b})
	}
	for _, block := range []int{1, 1000, 1 << 20} {
		one, err := Write(list[:30], block)
		if err != nil {
			t.Fatal(err)
		}
		two, err := Write(list[30:], block)
		if err != nil {
			t.Fatal(err)
		}
		none, err := Write(nil, block)
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(one, nil, none, two)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range r.Perm(len(list)) {
			if got, err := f.Read(list[i].Name); err != nil || !bytes.Equal(got, list[i].Data) {
				t.Fatalf("blocks of %d: %s is %q, %v", block, list[i].Name, got, err)
			}
		}
		if _, err := f.Read("a/b50"); err == nil {
			t.Error("there is a file that was not written")
		}
		for n := 1; n < len(one); n += 1 + n/10 { // torn
			if f, err := New(one[:n]); err == nil {
				for _, l := range list[:30] {
					if got, err := f.Read(l.Name); err == nil && !bytes.Equal(got, l.Data) {
						t.Fatalf("%d bytes of %d: %s is %q", n, len(one), l.Name, got)
					}
				}
			}
		}
	}
}
