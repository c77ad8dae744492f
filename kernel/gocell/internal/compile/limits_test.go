package compile

import (
	"fmt"
	"strings"
	"testing"
)

// Whatever allocates asks for its memory before it takes it, so that a cell which wants
// too much ends with an error: about as many bytes as it takes, and nothing for little.
func TestNeed(t *testing.T) {
	for stmt, size := range map[string]int{
		"use(make([]int, n))":                            8,
		"use(make([]byte, 10, n))":                       1,
		"use(make([]string, n))":                         16,
		"use(make(chan int64, n))":                       8,
		"use(append([]int32(nil), make([]int32, n)...))": 4,
		"use(text + text)":                               2,
		"use([]byte(text))":                              1,
		"use([]rune(text))":                              4,
		"use(string(make([]byte, n)))":                   1,
		"s := make([]int, n); s = append(s, 1); use(s)":  8,
	} {
		for _, n := range []int{10, 100_000} {
			p, c, _, err := program("need.go", fmt.Sprintf(`package main

import "strings"

var n = %d
var text = strings.Repeat("x", n)

func use(any) {}

func main() { %s }
`, n, stmt))
			if err != nil {
				t.Fatal(stmt, err)
			}
			p.Init(c.Machine)
			asked := 0.0
			c.Machine.Need = func(what string, bytes float64) {
				if asked = max(asked, bytes); what == "" {
					t.Errorf("%s does not say for what it needs memory", stmt)
				}
			}
			p.Main(c.Machine)
			if want := float64(n * size); n < 1000 && asked > 0 || n >= 1000 && (asked < want || asked > 3*want) {
				t.Errorf("%s asks for %v bytes with n = %d, takes %v", stmt, asked, n, want)
			}
		}
	}
}

// Instances of generic functions may each need another, a hundred deep and no deeper.
func TestInstances(t *testing.T) {
	for deep, want := range map[int]bool{95: true, 110: false} {
		var text strings.Builder
		text.WriteString("package main\n\nfunc main() { f0[int]() }\n")
		for i := range deep {
			fmt.Fprintf(&text, "func f%d[T any]() { f%d[[]T]() }\n", i, i+1)
		}
		fmt.Fprintf(&text, "func f%d[T any]() { println(\"here\") }\n", deep)
		_, _, _, err := program("deep.go", text.String())
		if (err == nil) != want {
			t.Errorf("%d instances that need one another: %v", deep, err)
		}
	}
}
