package main

import "fmt"

type stack[T any] struct{ items []T }

func (s *stack[T]) push(x T) { s.items = append(s.items, x) }

func (s *stack[T]) pop() T {
	x := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return x
}

func main() {
	s := &stack[int]{}
	sum := 0
	for i := range 200000 {
		s.push(i)
		if i%3 == 2 {
			sum += s.pop() - s.pop()
		}
	}
	fmt.Println(sum, len(s.items))
}
