package main

import (
	"errors"
	"fmt"
)

type tooSmall struct{ n, least int }

func (e *tooSmall) Error() string { return fmt.Sprintf("%d is less than %d", e.n, e.least) }

func half(n int) (int, error) {
	if n < 10 {
		return 0, &tooSmall{n, 10}
	}
	return n / 2, nil
}

func main() {
	sum, small := 0, 0
	for i := range 1000000 {
		h, err := half(i % 20)
		var e *tooSmall
		switch {
		case errors.As(err, &e):
			small += e.least - e.n
		case err == nil:
			sum += h
		}
	}
	fmt.Println(sum, small)
}
