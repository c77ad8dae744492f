package experiment

import (
	"errors"
	"fmt"
	"os"

	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/run"
)

// Stored returns the tests of portfolios in a reading that a file of records
// holds, in the order in which [Test] returns them. It needs no instances, which
// may want a network or a compiler that is not there. It returns no records, and
// no error, where there is no such file or a portfolio was not tested; one that
// is there by name must have the same members. Where the file holds tests with a
// seed a member and with a shared one ([Record].OwnSeeds), it returns the former if
// they are all there, else the latter.
func Stored(file string, reading run.Reading, portfolios []portfolio.Portfolio) ([]Record, error) {
	all, err := Read(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	type key struct {
		instance, method, portfolio string
		own                         bool
	}
	known := map[key]Record{}
	var instances []string
	seen := map[string]bool{}
	for _, r := range all {
		if r.Reading != reading {
			continue
		}
		k := key{r.Instance, r.Method, r.Portfolio, r.OwnSeeds}
		if old, twice := known[k]; twice {
			return nil, fmt.Errorf("experiment: %s has two tests of %s on %s, by %d and %d evaluations, %d and %d repeats", file, r.Method, r.Instance, old.Evaluations, r.Evaluations, len(old.Values), len(r.Values))
		}
		known[k] = r
		if !seen[r.Instance] {
			seen[r.Instance] = true
			instances = append(instances, r.Instance)
		}
	}
rules:
	for _, own := range []bool{true, false} {
		var found []Record
		for _, i := range instances {
			for _, p := range portfolios {
				r, ok := known[key{i, p.Name, members(p), own}]
				if !ok {
					continue rules
				}
				found = append(found, r)
			}
		}
		return found, nil
	}
	return nil, nil
}
