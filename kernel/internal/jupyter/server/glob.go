package server

import "slices"

// glob reports whether all of s matches a pattern of SQLite's GLOB operator,
// whose syntax front ends expect in history searches: * matches any text, ? one
// character, [a-z] one character of a set, [^a-z] one that is not in the set.
// A [ without its ] matches nothing.
func glob(pattern, s string) bool {
	p, t := []rune(pattern), []rune(s)
	i, j := 0, 0
	star, mark := -1, 0 // the index of the last *, and the end of the text that it matches
	for j < len(t) {
		if i < len(p) {
			if p[i] == '*' {
				star, mark = i, j
				i++
				continue
			}
			if n := globOne(p[i:], t[j]); n > 0 {
				i += n
				j++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star+1, mark
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// globOne matches r against the first element of p, which is not a *. It
// returns the element's length, or 0 if r does not match.
func globOne(p []rune, r rune) int {
	switch p[0] {
	case '?':
		return 1
	case '[':
		set, negated := p[1:], false
		if len(set) > 0 && set[0] == '^' {
			set, negated = set[1:], true
		}
		// A ] at the beginning of the set is a member, not its end.
		end := -1
		if len(set) > 0 {
			end = slices.Index(set[1:], ']') + 1
		}
		if end <= 0 || inSet(set[:end], r) == negated {
			return 0
		}
		return len(p) - len(set) + end + 1
	}
	if p[0] == r {
		return 1
	}
	return 0
}

// inSet reports whether r is among characters and ranges such as a-z.
func inSet(set []rune, r rune) bool {
	for i := 0; i < len(set); i++ {
		low, high := set[i], set[i]
		if i+2 < len(set) && set[i+1] == '-' {
			high = set[i+2]
			i += 2
		}
		if low <= r && r <= high {
			return true
		}
	}
	return false
}
