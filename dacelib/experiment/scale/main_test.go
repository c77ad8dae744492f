package main

import (
	"context"
	"strings"
	"testing"
)

// TestWrite checks that each table has a row for each size, with its growth.
func TestWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var b strings.Builder
	s := sizes{bits: []int{10, 12}, instances: []int{1, 2}, workers: []int{1, 2}, trials: []int{10, 20}, repeats: 1}
	if err := write(context.Background(), &b, s, "a processor"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| 10 |", "| 12 (x 1.2) |", "| 1 |", "| 2 (x 2) |", "| 20 (x 2) |"} {
		if !strings.Contains(b.String(), row) {
			t.Errorf("there is no row %s in\n%s", row, b.String())
		}
	}
}

func TestModelName(t *testing.T) {
	if got := modelName("processor\t: 0\nmodel name\t: A CPU @ 2:1\n", "none"); got != "A CPU @ 2:1" {
		t.Errorf("got %q", got)
	}
	if got := modelName("", "none"); got != "none" {
		t.Errorf("got %q", got)
	}
}
