package main

import (
	"fmt"
	"math"
)

type vec struct{ x, y, z float64 }

func (a vec) add(b vec) vec              { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) scaled(s float64) vec       { return vec{a.x * s, a.y * s, a.z * s} }
func (a vec) cross(b vec) vec            { return vec{a.y*b.z - a.z*b.y, a.z*b.x - a.x*b.z, a.x*b.y - a.y*b.x} }
func (a vec) length() float64            { return math.Sqrt(a.x*a.x + a.y*a.y + a.z*a.z) }
func turned(p, axis vec, by float64) vec { return p.add(axis.cross(p).scaled(by)) }

func main() {
	p := vec{1, 2, 3}
	axis := vec{0, 0.6, 0.8}
	for range 3000000 {
		p = turned(p, axis, 0.001)
		p = p.scaled(3.7 / p.length())
	}
	fmt.Printf("%.3f %.3f %.3f", p.x, p.y, p.z)
}
