package main

import "fmt"

type shape interface{ area() float64 }

type rect struct{ w, h float64 }
type circle struct{ r float64 }

func (r rect) area() float64    { return r.w * r.h }
func (c *circle) area() float64 { return 3 * c.r * c.r }

func main() {
	var all []shape
	for i := range 1000 {
		if i%2 == 0 {
			all = append(all, rect{float64(i), 2})
		} else {
			all = append(all, &circle{float64(i)})
		}
	}
	total := 0.0
	for range 500 {
		for _, s := range all {
			total += s.area()
		}
	}
	fmt.Printf("%.1f", total)
}
