package caop

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// A Flag is an optimisation argument of GCC that x may enable.
type Flag struct {
	// ID is the flag's number in the table, from 1.
	ID int
	// Enable is the argument that turns the flag on: "-fgcse",
	// "-fira-region=all". Disable turns it off; it is empty for a flag with a
	// value, which is left out instead.
	Enable, Disable string
	// Conflicts holds the ids of the flags that exclude this one: other values
	// of the same argument. If two are enabled, the later one is left out.
	Conflicts []int
}

//go:embed flags.json
var flagsJSON []byte

// table returns the flags in the order in which GCC gets them.
var table = sync.OnceValue(func() []Flag {
	flags, err := readTable(flagsJSON)
	if err != nil {
		panic("caop: the table of flags cannot be read: " + err.Error())
	}
	return flags
})

// Table returns the flags of the problem, including those that the installed
// GCC does not know: 165 that are on or off, and 22 values of 8 more arguments.
// Flag i has the id i+1.
func Table() []Flag {
	flags := slices.Clone(table())
	for i := range flags {
		flags[i].Conflicts = slices.Clone(flags[i].Conflicts)
	}
	return flags
}

// readTable reads a table in the format of the authors' code, in which an entry
// that is "on" turns the optimisation off.
func readTable(b []byte) ([]Flag, error) {
	var f struct {
		IDs []struct {
			ID        int    `json:"id"`
			Off       string `json:"off"`
			On        string `json:"on"`
			Conflicts []int  `json:"conflicts"`
		} `json:"ids"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	var flags []Flag
	for i, e := range f.IDs {
		if e.ID != i+1 {
			return nil, fmt.Errorf("entry %d has the id %d", i+1, e.ID)
		}
		g := Flag{ID: e.ID, Enable: e.Off, Disable: e.On, Conflicts: e.Conflicts}
		if e.Off == "" {
			g.Enable, g.Disable = e.On, ""
		}
		flags = append(flags, g)
	}
	return flags, nil
}

// arguments returns GCC's arguments when the given flags of the table are on:
// all others are off, except that flags in dropped are not mentioned. With
// inverted, the meanings of on and off are exchanged for flags without a value.
func arguments(on, dropped map[int]bool, inverted bool) []string {
	var (
		args []string
		used = map[int]bool{}
	)
	for _, f := range table() {
		switch {
		case dropped[f.ID]:
		case f.Disable != "":
			if on[f.ID] != inverted {
				args = append(args, f.Enable)
			} else {
				args = append(args, f.Disable)
			}
		case on[f.ID] && !slices.ContainsFunc(f.Conflicts, func(id int) bool { return used[id] }):
			used[f.ID] = true
			args = append(args, f.Enable)
		}
	}
	return args
}
