package problem

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"dace.local/dacelib/files"
	"dace.local/dacelib/run"
)

// A Class is a class of problems with generators of its instances; the paper
// calls it a problem domain. Each problem package has a function that returns
// its classes. The fields are functions so that a cell can define a class.
type Class struct {
	// Name is the class's name in files and tables: "ccp".
	Name string
	// TrainDim is the dimension of training instances, TestDims holds the
	// dimensions of test instances.
	TrainDim int
	TestDims []int
	// Train returns training instance i for a seed. Instances for different i
	// or different seeds are independent.
	Train func(seed uint64, i int) (Problem, error)
	// Test returns test instance i of dimension d for a seed.
	Test func(seed uint64, d, i int) (Problem, error)
	// Decode decodes an instance from the JSON written by its MarshalJSON. It
	// may be nil if instances are not saved.
	Decode func(data []byte) (Problem, error)
}

// NewClass returns a class of one dimension from a function that draws instance i
// for a seed. Training instances are those of the seed itself, test instances
// those of a seed derived from it.
func NewClass(name string, dim int, draw func(seed uint64, i int) (Problem, error)) Class {
	return Class{
		Name: name, TrainDim: dim, TestDims: []int{dim}, Train: draw,
		Test: func(seed uint64, d, i int) (Problem, error) {
			if d != dim {
				return nil, fmt.Errorf("class %s: its instances have dimension %d, not %d", name, dim, d)
			}
			return draw(run.Seed(seed, "test instances of "+name), i)
		},
	}
}

// A Set holds the instances of one experiment on a class.
type Set struct {
	// Class and Seed are the class's name and the seed the instances were drawn
	// from.
	Class string
	Seed  uint64
	// Training holds the training instances, Test the test instances, grouped
	// by dimension.
	Training, Test []Problem
}

// NewSet draws the instance set of a class from one seed: as many training
// instances as training says, and test test instances of each of the class's
// test dimensions. The paper's sets have 5 and 50.
func (c Class) NewSet(seed uint64, training, test int) (Set, error) {
	s := Set{Class: c.Name, Seed: seed}
	for i := range training {
		p, err := c.Train(seed, i)
		if err != nil {
			return s, fmt.Errorf("class %s: training instance %d: %w", c.Name, i, err)
		}
		s.Training = append(s.Training, p)
	}
	for _, d := range c.TestDims {
		for i := range test {
			p, err := c.Test(seed, d, i)
			if err != nil {
				return s, fmt.Errorf("class %s: test instance %d of dimension %d: %w", c.Name, i, d, err)
			}
			s.Test = append(s.Test, p)
		}
	}
	return s, nil
}

// TestOf returns the test instances of dimension d.
func (s Set) TestOf(d int) []Problem {
	var ps []Problem
	for _, p := range s.Test {
		if p.Dim() == d {
			ps = append(ps, p)
		}
	}
	return ps
}

// setFile is a Set as stored in a file.
type setFile struct {
	Class    string            `json:"class"`
	Seed     uint64            `json:"seed"`
	Training []json.RawMessage `json:"training"`
	Test     []json.RawMessage `json:"test"`
}

// Write writes the set as JSON, every instance in full. It returns an error if
// an instance has no MarshalJSON.
func (s Set) Write(w io.Writer) error {
	f := setFile{Class: s.Class, Seed: s.Seed}
	encode := func(ps []Problem) (out []json.RawMessage, err error) {
		for _, p := range ps {
			m, ok := p.(json.Marshaler)
			if !ok {
				return nil, fmt.Errorf("instance %s of class %s cannot be saved: it has no MarshalJSON", p.Name(), s.Class)
			}
			b, err := m.MarshalJSON()
			if err != nil {
				return nil, fmt.Errorf("instance %s: %w", p.Name(), err)
			}
			out = append(out, b)
		}
		return out, nil
	}
	var err error
	if f.Training, err = encode(s.Training); err != nil {
		return err
	}
	if f.Test, err = encode(s.Test); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(f)
}

// Save writes the set to a file atomically.
func (s Set) Save(path string) error {
	return files.Write(path, s.Write)
}

// Read reads a set of this class written by [Set.Write].
func (c Class) Read(r io.Reader) (Set, error) {
	if c.Decode == nil {
		return Set{}, fmt.Errorf("class %s has no Decode: its instances cannot be read", c.Name)
	}
	var f setFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return Set{}, fmt.Errorf("not an instance set: %w", err)
	}
	if f.Class != c.Name {
		return Set{}, fmt.Errorf("the set holds instances of class %q, not %q", f.Class, c.Name)
	}
	s := Set{Class: f.Class, Seed: f.Seed}
	for i, raw := range f.Training {
		p, err := c.Decode(raw)
		if err != nil {
			return Set{}, fmt.Errorf("training instance %d: %w", i, err)
		}
		s.Training = append(s.Training, p)
	}
	for i, raw := range f.Test {
		p, err := c.Decode(raw)
		if err != nil {
			return Set{}, fmt.Errorf("test instance %d: %w", i, err)
		}
		s.Test = append(s.Test, p)
	}
	return s, nil
}

// Load reads a set from a file.
func (c Class) Load(path string) (Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return Set{}, err
	}
	defer f.Close()
	s, err := c.Read(f)
	if err != nil {
		return Set{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
