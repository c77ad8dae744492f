package experiment_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
)

func TestConstructed(t *testing.T) {
	dir := t.TempDir()
	save := func(folder, method, class, scale, status string) {
		t.Helper()
		s := construct.Summary{Method: method, Class: class, Scale: scale, Status: status, Members: portfolio.Members{brkga.Default().Named()}}
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := s.Save(filepath.Join(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	save("ccp-dace-paper-affine", "DACE", "ccp", "paper", "budget spent")
	save("ccp-dace-paper", "DACE", "ccp", "paper", "budget spent")
	save("ccp-ceps-paper", "CEPS", "ccp", "paper", "cancelled")
	save("ccp-noreg-small-affine", "NoReg", "ccp", "small", "budget spent")
	save("cimp-ceps-paper", "CEPS", "cimp", "paper", "budget spent")
	if err := os.Mkdir(filepath.Join(dir, "ccp-begun"), 0o755); err != nil {
		t.Fatal(err)
	}
	found, err := experiment.Constructed(dir, "ccp", "paper")
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, want := range []string{"DACE", "DACE (affine)"} {
		if c := found[i]; c.Portfolio.Name != want || c.Portfolio.Size() != 1 {
			t.Errorf("%+v, want %s", c, want)
		}
	}
	found, err = experiment.Constructed(dir, "ccp", "")
	if err != nil || len(found) != 3 || found[2].Portfolio.Name != "NoReg (small, affine)" {
		t.Errorf("at any scale: %+v, %v", found, err)
	}
	if found, err = experiment.Constructed(dir, "ccp", "tenth"); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := experiment.Constructed(filepath.Join(dir, "none"), "ccp", "paper"); err == nil {
		t.Error("a folder that does not exist")
	}
	found, err = experiment.Constructed("../../notebooks/results", "ccp", "paper")
	var names []string
	for _, c := range found {
		names = append(names, c.Portfolio.Name)
	}
	if want := []string{"DACE", "DACE (affine)", "CEPS", "GLOBAL", "PARHYDRA"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v; want the paper's order, %q", names, err, want)
	}
	for class, n := range map[string]int{"ccp": 5, "caop": 6} {
		if all, err := experiment.PaperPortfolios(class); err != nil || len(all) != n || all[0].Name != "DACE (paper)" {
			t.Errorf("%s: %v, %v", class, all, err)
		}
	}
	if _, err := experiment.PaperPortfolios("onemax"); err == nil {
		t.Error("the paper has no portfolio for onemax")
	}
}
