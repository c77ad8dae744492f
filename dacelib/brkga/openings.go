package brkga

import (
	"reflect"

	"dace.local/dacelib/internal/openings"
)

// opening returns the key of the individuals with which the search begins.
func (s *search) opening() openings.Key {
	return openings.Key{Problem: s.p, Seed: s.settings.Seed, Keys: int(s.settings.InitialKeys)}
}

// open sets the values of the first generations of searches on one problem to
// those in the table. Those that it lacks are evaluated before, each once, by
// evaluate, which takes the searches that ask for them.
func open(t *openings.Table, searches []*search, evaluate func([]*search) error) error {
	if t == nil || !reflect.ValueOf(searches[0].p).Comparable() {
		return nil
	}
	// Of the searches with a common opening, the one with the largest first
	// generation asks.
	at := map[openings.Key]int{}
	var largest []*search
	for _, s := range searches {
		if i, ok := at[s.opening()]; !ok {
			at[s.opening()] = len(largest)
			largest = append(largest, s)
		} else if s.wait > largest[i].wait {
			largest[i] = s
		}
	}
	for _, s := range largest {
		s.given = t.Recall(s.opening(), s.values())
	}
	if err := evaluate(largest); err != nil {
		return err
	}
	for _, s := range largest {
		t.Learn(s.opening(), s.values())
	}
	for _, s := range searches {
		s.given = t.Recall(s.opening(), s.values())
	}
	return nil
}
