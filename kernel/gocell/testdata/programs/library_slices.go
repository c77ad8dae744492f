package main

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
)

// Of these there is no compiled instance in a kernel.
type item struct {
	key  int16
	name string
}

type temperature float64

var kept any

// show prints a slice, what it shares with another, and its capacity in the heap.
func show[E any](what string, s []E) {
	kept = s
	fmt.Println(what, s, len(s), cap(s), s == nil)
}

func try(what string, f func()) {
	defer func() {
		if e := recover(); e != nil {
			fmt.Println(what, "panics:", e)
		}
	}()
	f()
}

func items(n int, key func(i int) int) (list []item) {
	for i := range n {
		list = append(list, item{int16(key(i)), fmt.Sprint("n", i)})
	}
	return list
}

func main() {
	near := func(a, b item) bool {
		if a.key < b.key {
			fmt.Print("<")
		}
		d := a.key - b.key
		return d >= -1 && d <= 1
	}
	show("compact", slices.CompactFunc(items(9, func(i int) int { return i * i / 4 }), near))
	show("compact", slices.Compact([]item{{1, "a"}, {1, "a"}, {2, "a"}, {1, "a"}, {1, "a"}}))
	show("compact", slices.Compact([]temperature{1, 1, temperature(math.NaN()), temperature(math.NaN()), 2, 2, 2}))

	show("clone", slices.Clone(items(3, func(i int) int { return i })))
	show("clone", slices.Clone([]uint16{1, 2, 3}))
	show("clone", slices.Clone([]uint16(nil)))
	show("clone", slices.Clone([]uint16{}))
	show("insert", slices.Insert([]uint16{1, 2, 3}, 1, 7))
	show("insert", slices.Insert([]uint16{1, 2, 3}, 3, 7, 8))
	show("insert", slices.Insert([]item(nil), 0))
	show("insert", slices.Insert([]item(nil), 0, item{1, "a"}))
	show("replace", slices.Replace([]uint16{1, 2, 3}, 0, 2, 7, 8, 9))
	show("replace", slices.Replace([]uint16{1, 2, 3}, 1, 3))
	show("replace", slices.Replace([]uint16{1, 2, 3}, 1, 3, 9, 9, 9))
	show("concat", slices.Concat([]uint16{1}, nil, []uint16{2, 3}))
	show("concat", slices.Concat[[]uint16](nil, nil))
	show("repeat", slices.Repeat([]item{{1, "a"}}, 3))
	show("repeat", slices.Repeat([]item(nil), 3))
	show("grow", slices.Grow([]uint16{1}, 1))
	show("collect", slices.Collect(maps.Values(map[string]item{"a": {1, "b"}})))

	// What is inserted may lie in the slice itself, and there may be room.
	for i := 0; i <= 4; i++ {
		s := append(make([]item, 0, 12), items(4, func(i int) int { return i })...)
		whole := s[:cap(s)]
		show("within", slices.Insert(s, i, s[1:3]...))
		fmt.Println(whole)
		s = append(make([]item, 0, 12), items(6, func(i int) int { return i })...)
		whole = s[:cap(s)]
		show("within", slices.Replace(s, min(i, 2), i, s[1:5]...))
		show("deleted", slices.Delete(s, min(i, 2), i))
		fmt.Println(whole)
	}
	s := items(7, func(i int) int { return i })
	show("deleted", slices.DeleteFunc(s, func(x item) bool { fmt.Print(x.key, " "); return x.key%3 == 1 }))
	fmt.Println(s)

	// The order of what is equal is that of Go's own algorithm.
	scattered := func(i int) int { return i * 7919 % 23 }
	byKey := func(a, b item) int { return cmp.Compare(a.key, b.key) }
	for _, n := range []int{5, 12, 13, 60} {
		s := items(n, scattered)
		slices.SortFunc(s, byKey)
		fmt.Println(s)
		s = items(n, scattered)
		slices.SortStableFunc(s, byKey)
		fmt.Println(s, slices.IsSortedFunc(s, byKey))
		s = items(n, scattered)
		sort.Slice(s, func(i, j int) bool { return s[i].key < s[j].key })
		fmt.Println(s)
		calls := 0
		slices.SortFunc(s, func(a, b item) int { calls++; return -byKey(a, b) })
		fmt.Println(s, calls)
	}
	s = items(30, scattered)
	t := []temperature{2, temperature(math.NaN()), -1, temperature(math.Inf(1)), temperature(math.NaN())}
	slices.Sort(t)
	fmt.Println(t, slices.IsSorted(t), slices.Min(t), slices.Max(t[2:]))
	fmt.Println(slices.BinarySearch(t, temperature(math.NaN())))
	fmt.Println(slices.BinarySearch(t, 2))
	fmt.Println(slices.BinarySearchFunc(s, int16(40), func(x item, k int16) int { return int(k - x.key) }))
	fmt.Println(slices.MinFunc(s[3:20], func(a, b item) int { return 0 }), slices.MaxFunc(s[3:20], func(a, b item) int { return 0 }))
	fmt.Println(slices.Compare(t, t), slices.Equal(t, t), slices.Compare(t[:2], t), slices.EqualFunc(s, t, func(item, temperature) bool { return true }))
	fmt.Println(slices.CompareFunc(s[:2], t, func(x item, t temperature) int { return int(x.key) - int(t) }) > 0)
	slices.Reverse(s[:4])
	fmt.Println(s[:4], slices.Index(s, s[2]), slices.IndexFunc(s, func(x item) bool { return x.key == 3 }), slices.Contains(s, item{}))
	for c := range slices.Chunk(s[:5], 2) {
		show("chunk", c)
	}
	fmt.Println(slices.SortedFunc(slices.Values(s[:9]), byKey), slices.SortedStableFunc(slices.Values(s[:9]), func(a, b item) int { return 0 }))
	fmt.Println(slices.AppendSeq([]item{{9, "z"}}, slices.Values(s[:2])), cmp.Or(item{}, item{0, "x"}, item{1, ""}))
	for i, x := range slices.Backward(s[:3]) {
		fmt.Println(i, x)
	}
	next, stop := iter.Pull2(slices.All(s[:2]))
	for range 3 {
		fmt.Println(next())
	}
	stop()

	try("chunk", func() { slices.Chunk(s, 0) })
	try("repeat", func() { slices.Repeat(s, -1) })
	try("repeat", func() { slices.Repeat(s, math.MaxInt/2) })
	try("grow", func() { slices.Grow(s, -1) })
	try("insert", func() { slices.Insert(s[:2:2], 3, item{}) })
	try("replace", func() { slices.Replace(s[:2:2], 2, 1, item{}) })
	try("delete", func() { slices.Delete(s[:2:2], 1, 3) })
	try("min", func() { slices.Min([]temperature{}) })
	try("max", func() { slices.MaxFunc([]item(nil), byKey) })

	m := map[temperature]item{1: {1, "a"}, temperature(math.NaN()): {2, "b"}}
	fmt.Println(len(maps.Clone(m)), maps.Equal(m, m), maps.Clone(map[temperature]item(nil)) == nil)
	maps.DeleteFunc(m, func(k temperature, v item) bool { return true })
	fmt.Println(len(m), maps.EqualFunc(m, m, func(a, b item) bool { return true }))
	maps.Insert(m, maps.All(map[temperature]item{3: {3, "c"}}))
	maps.Copy(m, map[temperature]item{4: {4, "d"}})
	fmt.Println(slices.Sorted(maps.Keys(m)), maps.Collect(slices.All(s[:2])))
}
