package main

import "fmt"

func lcs(a, b string) string {
	dp := make([][]int, len(a)+1)
	for i := range dp {
		dp[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				dp[i][j] = dp[i+1][j+1] + 1
			} else {
				dp[i][j] = max(dp[i+1][j], dp[i][j+1])
			}
		}
	}
	var out []byte
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, a[i])
			i++
			j++
		case dp[i+1][j] >= dp[i][j+1]:
			i++
		default:
			j++
		}
	}
	return string(out)
}

func knapsack(w, v []int, capacity int) (best int, chosen []int) {
	n := len(w)
	table := make([][]int, n+1)
	for i := range table {
		table[i] = make([]int, capacity+1)
	}
	for i := 1; i <= n; i++ {
		for c := 0; c <= capacity; c++ {
			table[i][c] = table[i-1][c]
			if w[i-1] <= c {
				if t := table[i-1][c-w[i-1]] + v[i-1]; t > table[i][c] {
					table[i][c] = t
				}
			}
		}
	}
	for i, c := n, capacity; i > 0; i-- {
		if table[i][c] != table[i-1][c] {
			chosen = append(chosen, i-1)
			c -= w[i-1]
		}
	}
	return table[n][capacity], chosen
}

func permutations(xs []int, visit func([]int) bool) {
	var rec func(int) bool
	rec = func(k int) bool {
		if k == len(xs) {
			return visit(xs)
		}
		for i := k; i < len(xs); i++ {
			xs[k], xs[i] = xs[i], xs[k]
			if !rec(k + 1) {
				return false
			}
			xs[k], xs[i] = xs[i], xs[k]
		}
		return true
	}
	rec(0)
}

func queens(n int) (count int) {
	cols, d1, d2 := map[int]bool{}, map[int]bool{}, map[int]bool{}
	var place func(int)
	place = func(r int) {
		if r == n {
			count++
			return
		}
		for c := range n {
			if cols[c] || d1[r+c] || d2[r-c] {
				continue
			}
			cols[c], d1[r+c], d2[r-c] = true, true, true
			place(r + 1)
			delete(cols, c)
			d1[r+c], d2[r-c] = false, false
		}
	}
	place(0)
	return
}

func main() {
	fmt.Println(lcs("AGGTAB", "GXTXAYB"))
	fmt.Println(knapsack([]int{1, 3, 4, 5}, []int{1, 4, 5, 7}, 7))
	n := 0
	permutations([]int{1, 2, 3}, func(p []int) bool { n++; fmt.Print(p, " "); return n < 5 })
	fmt.Println()
	fmt.Println(queens(4), queens(6))
	collatz := func(n int) (steps int) {
		for ; n != 1; steps++ {
			if n%2 == 0 {
				n /= 2
			} else {
				n = 3*n + 1
			}
		}
		return
	}
	fmt.Println(collatz(27), collatz(1))
	gcd := func(a, b int) int {
		for b != 0 {
			a, b = b, a%b
		}
		return a
	}
	fmt.Println(gcd(48, 18), gcd(7, 0))
}
