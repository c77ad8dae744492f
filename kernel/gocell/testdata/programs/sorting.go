package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

type Person struct {
	Name string
	Age  int
}
type ByAge []Person

func (a ByAge) Len() int           { return len(a) }
func (a ByAge) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a ByAge) Less(i, j int) bool { return a[i].Age < a[j].Age }

type lessFunc func(a, b *Person) bool
type multiSorter struct {
	people []Person
	less   []lessFunc
}

func (m *multiSorter) Len() int      { return len(m.people) }
func (m *multiSorter) Swap(i, j int) { m.people[i], m.people[j] = m.people[j], m.people[i] }
func (m *multiSorter) Less(i, j int) bool {
	p, q := &m.people[i], &m.people[j]
	for _, less := range m.less {
		switch {
		case less(p, q):
			return true
		case less(q, p):
			return false
		}
	}
	return false
}

func quick(a []int) []int {
	if len(a) < 2 {
		return a
	}
	l, r := 0, len(a)-1
	for i := range a {
		if a[i] < a[r] {
			a[l], a[i] = a[i], a[l]
			l++
		}
	}
	a[l], a[r] = a[r], a[l]
	quick(a[:l])
	quick(a[l+1:])
	return a
}

func mergesort[T cmp.Ordered](a []T) []T {
	if len(a) <= 1 {
		return a
	}
	l, r := mergesort(a[:len(a)/2]), mergesort(a[len(a)/2:])
	out := make([]T, 0, len(a))
	for len(l) > 0 && len(r) > 0 {
		if l[0] <= r[0] {
			out, l = append(out, l[0]), l[1:]
		} else {
			out, r = append(out, r[0]), r[1:]
		}
	}
	return append(append(out, l...), r...)
}

func main() {
	people := []Person{{"Bob", 31}, {"John", 42}, {"Michael", 17}, {"Jenny", 26}, {"Al", 31}}
	sort.Sort(ByAge(people))
	fmt.Println(people)
	sort.Slice(people, func(i, j int) bool { return people[i].Name < people[j].Name })
	fmt.Println(people)
	sort.Stable(sort.Reverse(ByAge(people)))
	fmt.Println(people)
	ms := &multiSorter{people, []lessFunc{
		func(a, b *Person) bool { return len(a.Name) < len(b.Name) },
		func(a, b *Person) bool { return a.Age > b.Age }}}
	sort.Sort(ms)
	fmt.Println(ms.people)
	fmt.Println(quick([]int{5, 2, 9, 1, 5, 6, -3}), mergesort(strings.Fields("the quick brown fox")), mergesort([]float64{2.5, 1, 3}))
	slices.SortFunc(people, func(a, b Person) int {
		return cmp.Or(-cmp.Compare(a.Age, b.Age), strings.Compare(a.Name, b.Name))
	})
	fmt.Println(people)
	i, ok := slices.BinarySearchFunc([]int{1, 3, 5}, 3, cmp.Compare[int])
	fmt.Println(i, ok, sort.SearchInts([]int{1, 3, 5}, 4))
	idx := []int{0, 1, 2, 3}
	vals := []float64{3, 1, 2, 0}
	sort.SliceStable(idx, func(i, j int) bool { return vals[idx[i]] < vals[idx[j]] })
	fmt.Println(idx, sort.IsSorted(sort.IntSlice(idx)))
	strs := sort.StringSlice{"b", "a"}
	strs.Sort()
	fmt.Println(strs, slices.IsSorted(strs))
}
