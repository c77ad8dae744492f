package main

import (
	"fmt"
	"strings"
)

type Logger struct {
	prefix string
	lines  []string
}

func (l *Logger) Log(s string)       { l.lines = append(l.lines, l.prefix+s) }
func (l Logger) Count() int          { return len(l.lines) }
func (l *Logger) SetPrefix(p string) { l.prefix = p }

type Base struct {
	ID   int
	Name string
}

func (b Base) Describe() string { return fmt.Sprintf("%d:%s", b.ID, b.Name) }
func (b Base) Kind() string     { return "base" }
func (b *Base) Rename(n string) { b.Name = n }

type Service struct {
	*Logger
	Base
	Extra string
}

func (s Service) Kind() string { return "service/" + s.Base.Kind() }

type Deep struct {
	Service
	Level int
}

type Describer interface{ Describe() string }
type Kinder interface{ Kind() string }
type Both interface {
	Describer
	Kinder
}

type Wrapped struct {
	Describer
	times int
}

func (w Wrapped) Twice() string { return strings.Repeat(w.Describe()+";", w.times) }

func main() {
	s := Service{Logger: &Logger{prefix: "> "}, Base: Base{1, "one"}, Extra: "e"}
	s.Log("a")
	s.SetPrefix("# ")
	s.Log("b")
	fmt.Println(s.Count(), s.lines, s.ID, s.Name, s.Describe(), s.Kind())
	s.Rename("uno")
	fmt.Println(s.Name, s.Base.Name)
	d := Deep{Service: s, Level: 3}
	d.Log("deep")
	d.Rename("tres")
	fmt.Println(d.Describe(), d.Kind(), d.Count(), s.Count(), s.Name)
	var b Both = d
	fmt.Println(b.Describe(), b.Kind())
	if k, ok := b.(Kinder); ok {
		fmt.Println("kinder", k.Kind())
	}
	_, isBase := any(d.Base).(Both)
	fmt.Println(isBase)
	w := Wrapped{d, 2}
	fmt.Println(w.Twice(), w.Describe())
	w.Describer = Base{9, "nine"}
	fmt.Println(w.Describe(), w.Twice())
	f := d.Describe
	d.Rename("later")
	fmt.Println(f(), d.Describe())
	fmt.Printf("%v %+v\n", d.Base, d.Base)
}
