package experiment

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/portfolio"
)

// A Construction is a finished construction found in a folder.
type Construction struct {
	// Dir is its folder, for construct.Read.
	Dir string
	construct.Summary
	// Portfolio is its portfolio. It is named after the method and what the
	// folder's name adds: "DACE (affine)" in ccp-dace-paper-affine, "CEPS
	// (tenth)" in cimp-ceps-tenth.
	Portfolio portfolio.Portfolio
}

// tabled are the methods in the order of the paper's tables.
var tabled = []string{"DACE", "CEPS", "GLOBAL", "PARHYDRA"}

// Constructed returns the finished constructions of a class at a scale, or at
// any if scale is empty, in the folders that are in dir, in the order of the paper's
// tables and of their names. A folder is named CLASS-METHOD-SCALE, with more behind it where there
// are several: as dace construct is given it by -o.
func Constructed(dir, class, scale string) ([]Construction, error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("experiment: the folder of constructions: %w", err)
	}
	var found []Construction
	for _, f := range folders {
		if !f.IsDir() || !strings.HasPrefix(f.Name(), class+"-") {
			continue
		}
		c := Construction{Dir: filepath.Join(dir, f.Name())}
		if _, err := os.Stat(filepath.Join(c.Dir, construct.SummaryName)); err != nil {
			continue // begun, or something else
		}
		if c.Summary, err = construct.LoadSummary(c.Dir); err != nil {
			return nil, err
		}
		if c.Class != class || scale != "" && c.Scale != scale || c.Status != "budget spent" {
			continue
		}
		c.Portfolio = portfolio.Portfolio{Name: c.Method, Members: c.Members}
		prefix := class + "-" + strings.ToLower(c.Method)
		if scale != "" || c.Scale == "paper" {
			prefix += "-" + c.Scale
		}
		if more := strings.Trim(strings.TrimPrefix(f.Name(), prefix), "-"); more != "" {
			c.Portfolio.Name += " (" + strings.ReplaceAll(more, "-", ", ") + ")"
		}
		found = append(found, c)
	}
	order := func(c Construction) int {
		if i := slices.Index(tabled, c.Method); i >= 0 {
			return i
		}
		return len(tabled)
	}
	slices.SortStableFunc(found, func(a, b Construction) int { return cmp.Compare(order(a), order(b)) })
	return found, nil
}

// PaperPortfolios returns the portfolios that the paper tests on a class, DACE's
// first.
func PaperPortfolios(class string) ([]portfolio.Portfolio, error) {
	var all []portfolio.Portfolio
	for _, name := range Portfolios() {
		if name == "smartest-pap" && class != "caop" {
			continue
		}
		p, err := Portfolio(class, name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
