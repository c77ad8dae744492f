// Package suggest finds the name that a user may have meant by a mistyped one.
package suggest

import (
	"iter"
	"strings"
)

// Nearest returns the candidate that is most similar to name, for "did you
// mean" messages. A candidate that differs only in letter case comes first;
// else the number of letters that are left out, added, changed or swapped with
// the next may be a third of the length of name, at least 1 and at most 3. Of
// equally similar candidates Nearest returns the first in alphabetical order.
// It returns "" if there is none, and for names of one or two letters, which
// resemble too many others.
func Nearest(name string, candidates iter.Seq[string]) string {
	if len(name) < 3 {
		return ""
	}
	limit := min(3, max(1, len(name)/3))
	lower := strings.ToLower(name)
	best, least := "", limit+1
	for c := range candidates {
		if c == name || len(c) < 2 || len(c) > len(name)+limit || len(name) > len(c)+limit {
			continue
		}
		d := 0
		if l := strings.ToLower(c); l != lower {
			d = distance(lower, l)
		}
		if d < least || d == least && best != "" && c < best {
			best, least = c, d
		}
	}
	return best
}

// distance returns the optimal string alignment distance of two texts, in
// bytes.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// DidYouMean returns "; did you mean X?" to follow a message about an unknown
// name, where X is prefix and the name's [Nearest] candidate, or "" if there is
// none.
func DidYouMean(prefix, name string, candidates iter.Seq[string]) string {
	meant := Nearest(name, candidates)
	if meant == "" {
		return ""
	}
	return "; did you mean " + prefix + meant + "?"
}
