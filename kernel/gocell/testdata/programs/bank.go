package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type Money int64

func (m Money) String() string { return fmt.Sprintf("%d.%02d", int64(m)/100, int64(m)%100) }

type Kind uint8

const (
	Checking Kind = iota + 1
	Savings
)

type InsufficientError struct {
	Need, Have Money
}

func (e *InsufficientError) Error() string { return fmt.Sprintf("need %v, have %v", e.Need, e.Have) }

type Account struct {
	Owner string
	Kind
	Balance Money
	history []entry
}
type entry struct {
	what   string
	amount Money
}

func (a *Account) Withdraw(m Money) error {
	if m > a.Balance {
		return &InsufficientError{m, a.Balance}
	}
	a.Balance -= m
	a.history = append(a.history, entry{"withdraw", m})
	return nil
}
func (a *Account) Deposit(m Money) *Account {
	a.Balance += m
	a.history = append(a.history, entry{"deposit", m})
	return a
}

type Bank map[string]*Account

func (b Bank) Open(owner string, k Kind) *Account {
	a := &Account{Owner: owner, Kind: k}
	b[owner] = a
	return a
}
func (b Bank) Transfer(from, to string, m Money) (err error) {
	f, ok1 := b[from]
	t, ok2 := b[to]
	switch {
	case !ok1 || !ok2:
		return errors.New("no such account")
	case from == to:
		return nil
	}
	if err = f.Withdraw(m); err != nil {
		return fmt.Errorf("transfer from %s: %w", from, err)
	}
	t.Deposit(m)
	return
}
func (b Bank) Total() (t Money) {
	for _, a := range b {
		t += a.Balance
	}
	return
}

func main() {
	b := Bank{}
	b.Open("ann", Checking).Deposit(10050).Deposit(1)
	b.Open("bob", Savings)
	fmt.Println(b["ann"].Balance, b.Total(), b["ann"].Kind, len(b["ann"].history))
	fmt.Println(b.Transfer("ann", "bob", 2500), b["bob"].Balance)
	err := b.Transfer("bob", "ann", 999999)
	fmt.Println(err)
	var ie *InsufficientError
	if errors.As(err, &ie) {
		fmt.Println(ie.Need, ie.Have, ie.Need-ie.Have)
	}
	fmt.Println(b.Transfer("x", "ann", 1), b.Transfer("ann", "ann", 1))
	for _, k := range slices.Sorted(maps.Keys(b)) {
		fmt.Println(strings.ToUpper(k), b[k].Balance, len(b[k].history), b[k].history[0].amount)
	}
	snapshot := *b["ann"]
	b["ann"].Deposit(1)
	fmt.Println(snapshot.Balance, b["ann"].Balance)
	fmt.Printf("%v %s %d %T\n", Money(5), Money(123456), Money(7), Money(0))
	fmt.Printf("%+v\n", struct {
		M Money
		L []Money
	}{1, []Money{2, 300}})
}
