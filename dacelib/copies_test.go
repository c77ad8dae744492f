package dacelib_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/frame"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// TestReturnedSlicesAreCopies checks that a caller may change what a method returned,
// and the value stays as it was: every exported method of some values without
// arguments, or with one name or index, that returns slices or maps is called, what
// it returned is overwritten, and it is called again.
func TestReturnedSlicesAreCopies(t *testing.T) {
	ctx := context.Background()
	set, err := onemax.Class(12).NewSet(1, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	s := construct.Settings{Members: 2, Rounds: 1, Configurations: 4, Minings: 2, Trials: 4, Evaluations: 40, Dir: t.TempDir()}
	s.NIR = nir.Settings{Samples: 200, Steps: 20, Batch: 16, NormaliseSample: 400, ValidateEvery: 10}
	result, err := construct.DACE(ctx, set.Training, s)
	if err != nil {
		t.Fatal(err)
	}
	record, err := construct.Read(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	records, err := experiment.Test(ctx, set, experiment.Entries([]portfolio.Portfolio{result.Portfolio}), experiment.Settings{Sample: 50, Evaluations: 20, Repeats: 2})
	if err != nil {
		t.Fatal(err)
	}
	table, err := experiment.Tabulate(records, "")
	if err != nil {
		t.Fatal(err)
	}
	scorer, err := result.Model.Scorer(result.Model.Embeddings()[0])
	if err != nil {
		t.Fatal(err)
	}
	features, err := landscape.Extract(ctx, set.Training, landscape.Settings{Solutions: 200, Pairs: 2000})
	if err != nil {
		t.Fatal(err)
	}
	pca, err := landscape.FitPCA(append(features, features[0]), 2)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := landscape.Measure(ctx, set.Training[0], landscape.Settings{Solutions: 200, Pairs: 2000})
	if err != nil {
		t.Fatal(err)
	}
	f := frame.Frame{}.With("name", []string{"c", "a", "b"}).With("v", []float64{3, 1, 2}).With("n", []int{5, 6, 7}).
		With("yes", []bool{true, false, true}).With("at", []time.Time{time.Unix(3, 0), time.Unix(1, 0), time.Unix(2, 0)})
	counted := problem.Count(set.Training[0], 0)
	if _, err := problem.Value(ctx, counted, make([]bool, 12)); err != nil {
		t.Fatal(err)
	}
	// Methods whose comments say that what they return is shared, and why.
	shared := map[string]bool{"Solutions.Row": true, "Solutions.Slice": true}
	shared["Model.NIRs"] = true // makes new problems at each call, which print as other pointers
	names := append(f.Names(), result.Model.Names()...)
	calls := 0
	for _, v := range []any{
		f, f.GroupBy("name"), result, result.Model, scorer, result.Portfolio, result.Rounds[0].Matrix, record, records[0], table, pca, curve, counted,
		set, set.Training[0], problem.Pack(make([]bool, 12), make([]bool, 12)), result.Setup,
	} {
		rv := reflect.ValueOf(v)
		for i := range rv.NumMethod() {
			m, name := rv.Method(i), rv.Type().Method(i).Name
			label := reflect.Indirect(rv).Type().Name() + "." + name
			if shared[label] || !returnsStorage(m.Type()) {
				continue
			}
			for _, args := range arguments(m.Type(), names) {
				before, ok := call(m, args)
				if !ok {
					continue
				}
				copied := fmt.Sprintf("%#v", deref(before))
				for _, r := range before {
					overwrite(r)
				}
				again, ok := call(m, args)
				if now := fmt.Sprintf("%#v", deref(again)); !ok || now != copied {
					t.Errorf("%s(%v) returned\n%.300s\nand, after that was changed,\n%.300s", label, args, copied, now)
				}
				calls++
			}
		}
	}
	t.Logf("%d calls", calls)
	if calls < 25 {
		t.Errorf("only %d methods were called", calls)
	}
}

// returnsStorage reports whether a result of a function is, or has a field that is,
// or is an interface that may be, a slice or a map.
func returnsStorage(f reflect.Type) bool {
	for i := range f.NumOut() {
		switch k := f.Out(i); k.Kind() {
		case reflect.Slice, reflect.Map:
			return true
		case reflect.Struct:
			for j := range k.NumField() {
				if field := k.Field(j); field.IsExported() && (field.Type.Kind() == reflect.Slice || field.Type.Kind() == reflect.Map) {
					return true
				}
			}
		case reflect.Interface:
			if k.NumMethod() == 0 {
				return true
			}
		}
	}
	return false
}

// arguments returns the arguments to call a function with; none if it takes others
// than names, small numbers and none.
func arguments(f reflect.Type, names []string) (all [][]reflect.Value) {
	switch {
	case f.NumIn() == 0 || f.NumIn() == 1 && f.IsVariadic():
		return [][]reflect.Value{nil}
	case f.NumIn() == 1 && f.In(0).Kind() == reflect.String:
		for _, n := range names {
			all = append(all, []reflect.Value{reflect.ValueOf(n).Convert(f.In(0))})
		}
	case f.NumIn() == 1 && f.In(0).Kind() == reflect.Int:
		all = [][]reflect.Value{{reflect.ValueOf(1).Convert(f.In(0))}}
	case f.NumIn() == 1 && f.In(0) == reflect.TypeFor[[]int]():
		all = [][]reflect.Value{{reflect.ValueOf([]int{0, 1})}}
	case f.NumIn() == 1 && f.In(0) == reflect.TypeFor[[]float64]():
		all = [][]reflect.Value{{reflect.ValueOf(make([]float64, 64))}}
	}
	return all
}

// call calls a function; ok is false if it panics or returns an error.
func call(f reflect.Value, args []reflect.Value) (out []reflect.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	out = f.Call(args)
	if n := len(out); n > 0 && out[n-1].Type() == reflect.TypeFor[error]() {
		if !out[n-1].IsNil() {
			return nil, false
		}
		out = out[:n-1]
	}
	return out, true
}

// deref returns the values of results.
func deref(out []reflect.Value) []any {
	var all []any
	for _, r := range out {
		all = append(all, r.Interface())
	}
	return all
}

// overwrite changes all that slices and maps within a value hold.
func overwrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			overwrite(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			overwrite(v.Index(i))
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, reflect.Value{})
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				overwrite(v.Field(i))
			}
		}
	}
}

// scribble sets a value to another one.
func scribble(v reflect.Value) {
	switch {
	case !v.CanSet():
	case v.CanFloat():
		v.SetFloat(math.Pi)
	case v.CanInt():
		v.SetInt(v.Int() + 77)
	case v.CanUint():
		v.SetUint(v.Uint() ^ 5)
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.Kind() == reflect.String:
		v.SetString("changed")
	default:
		v.SetZero()
	}
}
