package main

import "fmt"

type Account struct{ balance int }

func (a *Account) withdraw(n int) {
	defer fmt.Println("withdraw left")
	if n > a.balance {
		panic(fmt.Errorf("insufficient funds: %d > %d", n, a.balance))
	}
	a.balance -= n
}

func main() {
	a := &Account{100}
	a.withdraw(30)
	fmt.Println(a.balance)
	a.withdraw(500)
	fmt.Println("not reached")
}
