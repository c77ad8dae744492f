package main

import "fmt"

func quicksort(a []int) {
	if len(a) < 2 {
		return
	}
	pivot, left := a[len(a)/2], 0
	right := len(a) - 1
	for left <= right {
		for a[left] < pivot {
			left++
		}
		for a[right] > pivot {
			right--
		}
		if left <= right {
			a[left], a[right] = a[right], a[left]
			left++
			right--
		}
	}
	quicksort(a[:right+1])
	quicksort(a[left:])
}

func main() {
	a := make([]int, 500000)
	x := 7
	for i := range a {
		x = (x*1103515245 + 12345) & 0x7fffffff
		a[i] = x
	}
	quicksort(a)
	fmt.Println(a[0], a[len(a)/2], a[len(a)-1])
}
