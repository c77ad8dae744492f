package classic

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// longestLine is the largest length of a line of a file that is read, in bytes.
const longestLine = 1 << 24

// lines calls f with the number and the fields of every line that is not empty,
// until f returns an error or done.
func lines(r io.Reader, f func(number int, fields []string) (done bool, err error)) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, longestLine)
	number := 0
	for in.Scan() {
		number++
		fields := strings.Fields(in.Text())
		if len(fields) == 0 {
			continue
		}
		if done, err := f(number, fields); done || err != nil {
			return err
		}
	}
	return in.Err()
}

// ReadCNF reads a formula of a DIMACS file: comments (c ...), a line "p cnf
// VARIABLES CLAUSES", and clauses as literals that end with 0, on one line or
// several. A line "%" ends the file, as in SATLIB's. Errors name the line.
func ReadCNF(name string, r io.Reader) (*Instance, error) {
	s := &satData{}
	want := -1
	var clause []int
	err := lines(r, func(number int, fields []string) (bool, error) {
		switch {
		case fields[0] == "%":
			return true, nil
		case fields[0] == "c" || strings.HasPrefix(fields[0], "c") && want < 0:
			return false, nil
		case fields[0] == "p":
			if want >= 0 || len(fields) != 4 || fields[1] != "cnf" {
				return false, fmt.Errorf("classic: %s, line %d: want one line \"p cnf VARIABLES CLAUSES\"", name, number)
			}
			var err error
			if s.Variables, err = wholeNumber(fields[2], mostBits); err != nil {
				return false, fmt.Errorf("classic: %s, line %d: %w", name, number, err)
			}
			if want, err = wholeNumber(fields[3], mostTerms); err != nil {
				return false, fmt.Errorf("classic: %s, line %d: %w", name, number, err)
			}
			return false, nil
		case want < 0:
			return false, fmt.Errorf("classic: %s, line %d: a clause before \"p cnf VARIABLES CLAUSES\"", name, number)
		}
		for _, field := range fields {
			v, err := strconv.Atoi(field)
			if err != nil || v > s.Variables || v < -s.Variables {
				return false, fmt.Errorf("classic: %s, line %d: %q is no literal of %d variables", name, number, field, s.Variables)
			}
			if v != 0 {
				clause = append(clause, v)
				continue
			}
			if len(s.Clauses) == want {
				return false, fmt.Errorf("classic: %s, line %d: more than the %d clauses that its head says", name, number, want)
			}
			s.Clauses = append(s.Clauses, append([]int{}, clause...))
			clause = clause[:0]
		}
		return false, nil
	})
	switch {
	case err != nil:
		return nil, err
	case want < 0:
		return nil, fmt.Errorf("classic: %s is no DIMACS file: it has no line \"p cnf VARIABLES CLAUSES\"", name)
	case len(clause) > 0:
		return nil, fmt.Errorf("classic: %s: the last clause does not end with 0", name)
	case len(s.Clauses) != want:
		return nil, fmt.Errorf("classic: %s has %d clauses, and its head says %d", name, len(s.Clauses), want)
	}
	return s.instance(name)
}

// wholeNumber reads a whole number from 0 to most.
func wholeNumber(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%q is no number from 0 to %d", text, most)
	}
	return n, nil
}

// ReadRudy reads a graph as rudy writes it, the form of the G-set of max-cut
// instances: the numbers of nodes and of edges, then a line for each edge with its
// nodes, from 1, and its weight (1 if there is none). Errors name the line.
func ReadRudy(name string, r io.Reader) (Graph, error) {
	var g Graph
	want := -1
	err := lines(r, func(number int, fields []string) (bool, error) {
		wrong := func(err error) (bool, error) {
			return false, fmt.Errorf("classic: %s, line %d: %w", name, number, err)
		}
		if want < 0 {
			if len(fields) != 2 {
				return wrong(fmt.Errorf("want the numbers of nodes and of edges"))
			}
			var err error
			if g.Nodes, err = wholeNumber(fields[0], mostBits); err != nil {
				return wrong(err)
			}
			if want, err = wholeNumber(fields[1], mostTerms); err != nil {
				return wrong(err)
			}
			return false, nil
		}
		if len(fields) < 2 || len(fields) > 3 {
			return wrong(fmt.Errorf("want two nodes and a weight"))
		}
		if len(g.Edges) == want {
			return wrong(fmt.Errorf("more than the %d edges that its head says", want))
		}
		e := Edge{Weight: 1}
		for k, to := range []*int{&e.I, &e.J} {
			n, err := wholeNumber(fields[k], g.Nodes)
			if err == nil && n == 0 {
				err = fmt.Errorf("nodes are counted from 1")
			}
			if err != nil {
				return wrong(err)
			}
			*to = n - 1
		}
		if len(fields) == 3 {
			w, err := strconv.ParseFloat(fields[2], 64)
			if err != nil {
				return wrong(fmt.Errorf("the weight %q is no number", fields[2]))
			}
			e.Weight = w
		}
		g.Edges = append(g.Edges, e)
		return false, nil
	})
	if err == nil && want < 0 {
		err = fmt.Errorf("classic: %s is empty", name)
	}
	if err == nil && len(g.Edges) != want {
		err = fmt.Errorf("classic: %s has %d edges, and its head says %d", name, len(g.Edges), want)
	}
	if err == nil {
		err = g.check(name, false)
	}
	if err != nil {
		return Graph{}, err
	}
	return g, nil
}
