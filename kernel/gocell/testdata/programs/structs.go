package main

import "fmt"

type Point struct{ X, Y int }

func (p Point) Add(q Point) Point { return Point{p.X + q.X, p.Y + q.Y} }
func (p *Point) Scale(k int)      { p.X *= k; p.Y *= k }

type Rect struct {
	Min, Max Point
	Name     string
}

func (r Rect) Area() int { return (r.Max.X - r.Min.X) * (r.Max.Y - r.Min.Y) }

type hidden struct {
	a, b int8
	s    []string
	m    map[string]int
	p    *int
	f    func()
	e    error
	any  any
}

func main() {
	p := Point{1, 2}
	q := p
	q.X = 9
	p.Scale(3)
	fmt.Println(p, q, p.Add(q), p == Point{3, 6}, p != q)
	r := Rect{Max: Point{4, 5}, Name: "r"}
	fmt.Printf("%v %+v %#v %T %d\n", r, r, r, r, r.Area())
	var h hidden
	fmt.Printf("%v\n%+v\n", h, h)
	h.s = append(h.s, "x", "y z")
	h.m = map[string]int{"k": 1}
	h.any = Point{7, 8}
	fmt.Printf("%v\n%+v\n", h, h)
	pp := &r.Min
	pp.X = -1
	(*pp).Y--
	fmt.Println(r.Min, r.Area(), pp == &r.Min)
	anon := struct {
		A int
		B string `json:"b"`
	}{1, "two"}
	fmt.Printf("%v %+v %#v %T\n", anon, anon, anon, anon)
	arr := [...]Point{{1, 2}, {3, 4}}
	cp := arr
	cp[0].X = 100
	fmt.Println(arr, cp, arr == cp, len(arr))
	ps := []*Point{{1, 1}, {2, 2}}
	for _, x := range ps {
		x.Scale(10)
	}
	fmt.Println(*ps[0], *ps[1])
	m := map[Point]string{{1, 2}: "a", {0, 0}: "b"}
	fmt.Println(m[Point{1, 2}], m[Point{}], len(m[Point{5, 5}]), m)
	np := new(Point)
	np.Y = 4
	fmt.Println(*np, (*np).Add(Point{1, 1}), np.Add(Point{}))
	var zero Rect
	fmt.Println(zero == Rect{}, zero.Name == "")
}
