package main

import (
	"fmt"
	"math"
)

type body struct{ x, y, z, vx, vy, vz, mass float64 }

func advance(bodies []*body, dt float64) {
	for i, a := range bodies {
		for j := i + 1; j < len(bodies); j++ {
			b := bodies[j]
			dx, dy, dz := a.x-b.x, a.y-b.y, a.z-b.z
			d := dx*dx + dy*dy + dz*dz
			mag := dt / (d * math.Sqrt(d))
			a.vx -= dx * b.mass * mag
			a.vy -= dy * b.mass * mag
			a.vz -= dz * b.mass * mag
			b.vx += dx * a.mass * mag
			b.vy += dy * a.mass * mag
			b.vz += dz * a.mass * mag
		}
	}
	for _, a := range bodies {
		a.x += dt * a.vx
		a.y += dt * a.vy
		a.z += dt * a.vz
	}
}

func main() {

	bodies := []*body{
		{0, 0, 0, 0, 0, 0, 39.47},
		{4.84, -1.16, -0.10, 0.606, 2.81, -0.02, 0.037},
		{8.34, 4.12, -0.4, -1.01, 1.82, 0.008, 0.011},
		{12.89, -15.11, -0.22, 1.08, 0.868, -0.01, 0.0017},
		{15.37, -25.9, 0.179, 0.979, 0.594, -0.034, 0.002},
	}
	for range 20000 {
		advance(bodies, 0.01)
	}
	fmt.Printf("%.9f", bodies[1].x)

}
