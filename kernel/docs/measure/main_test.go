package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTables checks that the guides' tables are those of what was measured, and that a
// number in them follows the measurement.
func TestTables(t *testing.T) {
	found := map[string]bool{}
	for _, guide := range guides {
		b, err := os.ReadFile(filepath.Join("../../..", guide))
		if err != nil {
			t.Fatal(err)
		}
		text, err := filled("../../..", string(b))
		if err != nil || text != string(b) {
			t.Errorf("%s has other tables than what was measured: %v. go run ./kernel/docs/measure -tables writes them", guide, err)
		}
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			found[m[2]] = true
		}
	}
	for name := range tables {
		if !found[name] {
			t.Errorf("no guide has the table %s", name)
		}
	}
	got, err := constructs(func(string) (string, error) {
		line := "BenchmarkConstructs/%-2 8 1.5 cell-ns 1234.4 yaegi-ns\n"
		text := "on a machine\n"
		for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t_u") {
			text += strings.Replace(line, "%", name, 1)
		}
		return text, nil
	})
	if err != nil || !strings.Contains(got, "| t u | 2.00 | 1,234 |\n") || !strings.HasSuffix(got, "Measured on a machine.\n") {
		t.Errorf("%v\n%s", err, got)
	}
}
