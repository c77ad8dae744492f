package notebook

import (
	"slices"
	"testing"
)

// TestOrder tells notebooks that ran from top to bottom from others.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		counts []int // of cells; -1: Markdown, -2: an empty cell
		want   []string
	}{
		{[]int{1, -1, 2, -2, 3}, nil},
		{[]int{0, 0}, nil},
		{[]int{1, 0}, []string{"cell 2 has not been run"}},
		{[]int{2, 1}, []string{"cell 1 is In[2]: before it cells were run that are not there, or were run again since", "cell 2 (In[1]) was run before cell 1 (In[2])"}},
		{[]int{1, -1, 5, 6}, []string{"cell 3 is In[5]: between it and In[1] cells were run that are not there, or were run again since"}},
	} {
		nb := &Notebook{}
		for _, n := range c.counts {
			switch n {
			case -1:
				nb.Cells = append(nb.Cells, &Cell{Type: Markdown, Source: "text"})
			case -2:
				nb.Cells = append(nb.Cells, &Cell{Type: Code})
			default:
				nb.Cells = append(nb.Cells, &Cell{Type: Code, Source: "x", Count: n})
			}
		}
		if got := Order(nb); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.counts, got, c.want)
		}
	}
}

// TestDeclaredBelow finds the cells that declare what a cell lacks.
func TestDeclaredBelow(t *testing.T) {
	nb := &Notebook{}
	for _, text := range []string{"y := 1", "x, y, f(1), T{}", "z := x\nif x == 1 {}", "y, x := 1, 2", "func f(n int) int {\n\tx := n\n\treturn x\n}", "type T struct{}"} {
		nb.Cells = append(nb.Cells, &Cell{Type: Code, Source: text})
	}
	got := DeclaredBelow(nb, nb.Cells[1], "In[2]:1:1: undefined: x\nundefined: f\nundefined: T")
	want := []string{"it uses x, which is declared below, in cell 4", "it uses f, which is declared below, in cell 5", "it uses T, which is declared below, in cell 6"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
