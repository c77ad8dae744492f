package main

import "fmt"

func risky(n int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if n > 1 {
				panic(fmt.Sprint("again: ", r))
			}
			err = fmt.Errorf("recovered %v", r)
		}
	}()
	panic(n)
}

func main() {
	fmt.Println(risky(1))
	fmt.Println(risky(2))
}
