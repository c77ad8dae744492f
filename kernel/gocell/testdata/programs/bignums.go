package main

import (
	"fmt"
	"math/big"
)

func fact(n int64) *big.Int {
	r := big.NewInt(1)
	for i := int64(2); i <= n; i++ {
		r.Mul(r, big.NewInt(i))
	}
	return r
}

func fib(n int) *big.Int {
	a, b := new(big.Int), big.NewInt(1)
	for range n {
		a.Add(a, b)
		a, b = b, a
	}
	return a
}

func pidigits(n int) string {
	out := ""
	q, r, t := big.NewInt(1), big.NewInt(0), big.NewInt(1)
	k, m, x := big.NewInt(1), big.NewInt(3), big.NewInt(3)
	tmp, tmp2 := new(big.Int), new(big.Int)
	for len(out) < n {
		tmp.Mul(q, big.NewInt(4))
		tmp.Add(tmp, r)
		tmp.Sub(tmp, t)
		if tmp.Cmp(tmp2.Mul(m, t)) < 0 {
			out += m.String()
			nr := new(big.Int).Mul(big.NewInt(10), new(big.Int).Sub(r, new(big.Int).Mul(m, t)))
			a := new(big.Int).Mul(big.NewInt(10), new(big.Int).Add(new(big.Int).Mul(big.NewInt(3), q), r))
			m = new(big.Int).Sub(a.Quo(a, t), new(big.Int).Mul(big.NewInt(10), m))
			q.Mul(q, big.NewInt(10))
			r = nr
		} else {
			nr := new(big.Int).Mul(new(big.Int).Add(new(big.Int).Mul(big.NewInt(2), q), r), x)
			nn := new(big.Int).Mul(q, new(big.Int).Mul(big.NewInt(7), k))
			nn.Add(nn, big.NewInt(2)).Add(nn, new(big.Int).Mul(r, x))
			q.Mul(q, k)
			t.Mul(t, x)
			x.Add(x, big.NewInt(2))
			k.Add(k, big.NewInt(1))
			m = nn.Quo(nn, t)
			r = nr
		}
	}
	return out
}

func main() {
	fmt.Println(fact(50))
	fmt.Println(fib(300))
	fmt.Println(len(pidigits(10)) >= 10)
	a, ok := new(big.Int).SetString("123456789012345678901234567890", 10)
	fmt.Println(a, ok, a.Cmp(big.NewInt(0)), a.BitLen(), a.Sign())
	var q, r big.Int
	q.DivMod(a, big.NewInt(97), &r)
	fmt.Println(&q, &r, q.String())
	fmt.Printf("%x %d %s %v\n", a, a, a, a)
	x := big.NewRat(1, 3)
	x.Add(x, big.NewRat(1, 6))
	fmt.Println(x, x.FloatString(5))
	f := new(big.Float).SetPrec(100).SetFloat64(2)
	f.Sqrt(f)
	fmt.Println(f.Text('g', 25))
	fmt.Println(big.NewInt(97).ProbablyPrime(10), new(big.Int).Exp(big.NewInt(3), big.NewInt(100), big.NewInt(1000007)), new(big.Int).GCD(nil, nil, big.NewInt(48), big.NewInt(18)))
	var z big.Int
	fmt.Println(z.String(), z.Cmp(&big.Int{}), []*big.Int{big.NewInt(1), big.NewInt(2)})
}
