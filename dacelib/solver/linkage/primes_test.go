package linkage

import "testing"

// TestCoprime compares with Euclid's algorithm.
func TestCoprime(t *testing.T) {
	gcd := func(a, b int) int {
		for b != 0 {
			a, b = b, a%b
		}
		return a
	}
	for _, n := range []int{2, 3, 4, 9, 30, 49, 121, 128, 210, 997, 1155, 4096, 65521, 65536} {
		l := newLevel(1)
		l.members.Words = make([]uint64, n-1)
		l.add([]uint64{1})
		for k := 1; k < n; k += 1 + n/1000 {
			if l.coprime(k) != (gcd(k, n) == 1) {
				t.Fatalf("%d and %d: coprime %v", k, n, l.coprime(k))
			}
		}
	}
}
