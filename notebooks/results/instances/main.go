// Command instances measures Figure 6 at the paper's size: the fitness-distance features
// of authentic instances and of those that CEPS, DACE and NoReg make. PLAN.md says what is
// compared. It keeps a line for each construction in CLASS.jsonl beside it and goes on
// with what the file and the folder of constructions hold, so it may be ended at any time.
//
//	go run ./notebooks/results/instances -classes ccp -seeds 1
//	go run ./notebooks/results/instances -print >notebooks/results/instances/README.md
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/notebooks/results/internal/outcomes"
)

// A cell is a set of instances: "training" and "test" ones, or those that a method made.
type cell struct {
	Class string `json:"class"`
	From  string `json:"from"`
	// Seed is that of the construction and its training instances.
	Seed uint64 `json:"seed"`
}

// A row is the outcome of a cell.
type row struct {
	cell
	Instances []instance `json:"instances"`
}

// An instance is measured by its features; those of one Round were made together.
type instance struct {
	Round    int       `json:"round,omitempty"`
	Dim      int       `json:"dim"`
	Features []float64 `json:"features"`
}

var methods = []string{"CEPS", "DACE", "NoReg"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("instances: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("instances", flag.ContinueOnError)
	dir := fs.String("dir", filepath.Join("notebooks", "results", "instances"), "`folder` of the outcomes")
	classes := fs.String("classes", "ccp,cimp", "classes")
	sources := fs.String("from", "test,training,"+strings.Join(methods, ","), "sets of instances")
	seeds := fs.String("seeds", "1,2,3", "constructions, by seed")
	keep := fs.String("keep", filepath.Join(os.TempDir(), "dace-instances"), "`folder` of the constructions")
	print := fs.Bool("print", false, "print the tables of what the files hold, and measure nothing")
	m := measurer{ctx: ctx, sampling: landscape.Paper(), unseen: 50}
	fs.StringVar(&m.scale, "scale", "quick", "scale of networks and mutations")
	fs.IntVar(&m.sampling.Solutions, "solutions", m.sampling.Solutions, "solutions of each instance; ten times as many pairs")
	fs.IntVar(&m.unseen, "unseen", m.unseen, "test instances of each dimension")
	if err := fs.Parse(args); err != nil {
		return err
	}
	m.sampling.Pairs, m.sampling.Seed, m.keep = 10*m.sampling.Solutions, 1, *keep
	var all []row
	for seed := range strings.SplitSeq(*seeds, ",") {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a seed", seed)
		}
		for class := range strings.SplitSeq(*classes, ",") {
			file := filepath.Join(*dir, class+".jsonl")
			rows, err := outcomes.Read[row](file)
			if err != nil {
				return err
			}
			if *print {
				for _, r := range rows {
					if r.Seed == n {
						all = append(all, r)
					}
				}
				continue
			}
			var cells []cell
			for from := range strings.SplitSeq(*sources, ",") {
				if from != "test" || n == 1 {
					cells = append(cells, cell{class, from, n})
				}
			}
			if err := outcomes.Extend(file, cells, rows, func(r row) cell { return r.cell }, m.measure, func(_ int, r row) {
				fmt.Fprintf(out, "%s, seed %d: %d instances, %s\n", r.Class, r.Seed, len(r.Instances), r.From)
			}); err != nil {
				return err
			}
		}
	}
	if *print {
		return tables(out, all)
	}
	return nil
}

// A measurer makes instances and measures them.
type measurer struct {
	ctx         context.Context
	sampling    landscape.Settings
	scale, keep string
	unseen      int // test instances of each dimension
}

func (m measurer) measure(c cell) (row, error) {
	r := row{cell: c}
	class, err := experiment.Class(c.Class, 0)
	if err != nil {
		return r, err
	}
	tests := 0
	if c.From == "test" {
		tests = m.unseen
	}
	set, err := class.NewSet(c.Seed, 5, tests)
	if err != nil {
		return r, err
	}
	var ps []problem.Problem
	switch c.From {
	case "training":
		ps = set.Training
	case "test":
		ps = set.Test
	default:
		made, err := m.construct(c, class, set.Training)
		if err != nil {
			return r, err
		}
		for i, one := range made.Instances {
			if one.Round > 0 {
				ps, r.Instances = append(ps, made.Problems[i]), append(r.Instances, instance{Round: one.Round})
			}
		}
	}
	features, err := landscape.Extract(m.ctx, ps, m.sampling)
	if err != nil {
		return r, err
	}
	if r.Instances == nil {
		r.Instances = make([]instance, len(ps))
	}
	for i, f := range features {
		for k := range f {
			f[k] = math.Round(f[k]*1e7) / 1e7
		}
		r.Instances[i].Dim, r.Instances[i].Features = ps[i].Dim(), f
	}
	return r, nil
}

// construct makes 15 instances in four rounds, with few searches for configurations.
func (m measurer) construct(c cell, class problem.Class, training []problem.Problem) (construct.Result, error) {
	s, err := construct.Scale(m.scale, c.From, c.Class, 0)
	if err != nil {
		return construct.Result{}, err
	}
	s.Rounds, s.Minings = 4, 4
	s.NIR.Activation = nir.Identity
	s.Seed, s.Dir = c.Seed, filepath.Join(m.keep, fmt.Sprintf("%s-%s-%d", c.Class, strings.ToLower(c.From), c.Seed))
	return construct.Build(m.ctx, c.From, class, training, s)
}
