package main

import (
	"fmt"
)

func mandelbrot(n int) int {
	inside := 0
	for py := 0; py < n; py++ {
		for px := 0; px < n; px++ {
			x0 := float64(px)/float64(n)*3.5 - 2.5
			y0 := float64(py)/float64(n)*2 - 1
			x, y := 0.0, 0.0
			i := 0
			for x*x+y*y <= 4 && i < 50 {
				x, y = x*x-y*y+x0, 2*x*y+y0
				i++
			}
			if i == 50 {
				inside++
			}
		}
	}
	return inside
}

func main() {
	fmt.Print(mandelbrot(400))

}
