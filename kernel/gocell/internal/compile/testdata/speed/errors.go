package main

import "fmt"

func check(n int) (int, error) {
	if n%10 == 0 {
		return 0, fmt.Errorf("no tenth: %d", n)
	}
	return n, nil
}

func main() {
	sum, failed := 0, 0
	for i := range 150000 {
		n, err := check(i)
		if err != nil {
			failed += len(err.Error())
			continue
		}
		sum += n
	}
	fmt.Println(sum, failed)
}
