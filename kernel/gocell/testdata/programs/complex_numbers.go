package main

import (
	"fmt"
	"math"
	"math/cmplx"
)

func roots(a, b, c complex128) (complex128, complex128) {
	d := cmplx.Sqrt(b*b - 4*a*c)
	return (-b + d) / (2 * a), (-b - d) / (2 * a)
}

func mandel(c complex128) int {
	z := 0i
	for n := range 50 {
		if cmplx.Abs(z) > 2 {
			return n
		}
		z = z*z + c
	}
	return 50
}

func main() {
	a, b := 1+2i, complex(3, -4)
	fmt.Println(a+b, a-b, a*b, a/b, -a, real(a), imag(b), a == b, a != 1+2i)
	var c64 complex64 = complex64(a)
	c64 *= 2
	c64 += 1i
	fmt.Println(c64, real(c64), fmt.Sprintf("%T %T %T", c64, real(c64), imag(a)))
	fmt.Println(roots(1, 2, 5))
	fmt.Printf("%.2f %v %+.1e\n", a, cmplx.Abs(b), b)
	for y := 1.0; y >= -1; y -= 0.5 {
		for x := -2.0; x <= 0.5; x += 0.25 {
			if mandel(complex(x, y)) == 50 {
				fmt.Print("#")
			} else {
				fmt.Print(".")
			}
		}
		fmt.Println()
	}
	fmt.Println(cmplx.Conj(a), cmplx.Pow(a, 2), math.Round(cmplx.Phase(-1)*100)/100)
	m := map[complex128]string{1i: "i", 2: "two"}
	fmt.Println(m[1i], m[complex(2, 0)])
	var z complex128
	z += 3
	z -= 1i
	z++
	fmt.Println(z, []complex128{z, 1}, [2]complex64{1, 2i})
}
