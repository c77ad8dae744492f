package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errEmpty = errors.New("empty stack")

type stack []float64

func (s *stack) push(x float64) { *s = append(*s, x) }
func (s *stack) pop() (float64, error) {
	if len(*s) == 0 {
		return 0, errEmpty
	}
	x := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return x, nil
}

var ops = map[string]func(a, b float64) float64{
	"+": func(a, b float64) float64 { return a + b },
	"-": func(a, b float64) float64 { return a - b },
	"*": func(a, b float64) float64 { return a * b },
	"/": func(a, b float64) float64 { return a / b },
}

func eval(expr string) (result float64, err error) {
	var s stack
	for _, w := range strings.Fields(expr) {
		if op, ok := ops[w]; ok {
			b, err := s.pop()
			if err != nil {
				return 0, fmt.Errorf("%s: %w", w, err)
			}
			a, err := s.pop()
			if err != nil {
				return 0, fmt.Errorf("%s: %w", w, err)
			}
			s.push(op(a, b))
			continue
		}
		x, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return 0, err
		}
		s.push(x)
	}
	return s.pop()
}

func main() {
	for _, e := range []string{"1 2 +", "3 4 * 5 -", "1 0 /", "+", "1 x +", "2 3 4 * + 7 -", ""} {
		r, err := eval(e)
		fmt.Printf("%q = %v, %v, %v\n", e, r, err, errors.Is(err, errEmpty))
	}
}
