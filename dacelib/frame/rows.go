package frame

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Of returns the frame of a slice of structs, or of pointers to structs: a
// column for each exported field of a number, text, truth value or time. A
// column has the field's name, or the one in the field's tag csv; with the tag
// "-" it is left out.
func Of(rows any) (Frame, error) {
	v := reflect.ValueOf(rows)
	if v.Kind() != reflect.Slice || structOf(v.Type().Elem()) == nil {
		return Frame{}, fmt.Errorf("frame: Of takes a slice of structs, not %T", rows)
	}
	f := Frame{rows: v.Len()}
	t := structOf(v.Type().Elem())
	for i := range t.NumField() {
		field := t.Field(i)
		name, ok := nameOf(field)
		if !ok {
			continue
		}
		at := func(k int) reflect.Value {
			e := v.Index(k)
			for e.Kind() == reflect.Pointer {
				if e.IsNil() {
					return reflect.Zero(field.Type)
				}
				e = e.Elem()
			}
			return e.Field(i)
		}
		if values := columnOf(field.Type, f.rows, at); values != nil {
			f.columns = append(f.columns, column{name, values})
		}
	}
	return f, nil
}

// structOf returns the struct type that t is or points to, or nil. A type may be a
// pointer to itself.
func structOf(t reflect.Type) reflect.Type {
	for i := 0; t.Kind() == reflect.Pointer && i < 8; i++ {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// nameOf returns the name of a field's column.
func nameOf(f reflect.StructField) (name string, ok bool) {
	name, _, _ = strings.Cut(f.Tag.Get("csv"), ",")
	switch {
	case name == "-" || !f.IsExported():
		return "", false
	case name == "":
		return f.Name, true
	}
	return name, true
}

func columnOf(t reflect.Type, n int, at func(k int) reflect.Value) any {
	if t == reflect.TypeFor[time.Time]() {
		return collect(n, func(k int) time.Time { return at(k).Interface().(time.Time) })
	}
	switch {
	case t.Kind() == reflect.String:
		return collect(n, func(k int) string { return at(k).String() })
	case t.Kind() == reflect.Bool:
		return collect(n, func(k int) bool { return at(k).Bool() })
	case reflect.Int <= t.Kind() && t.Kind() <= reflect.Int64:
		return collect(n, func(k int) int { return int(at(k).Int()) })
	case reflect.Uint <= t.Kind() && t.Kind() <= reflect.Uint64:
		return collect(n, func(k int) int { return int(at(k).Uint()) })
	case t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32:
		return collect(n, func(k int) float64 { return at(k).Float() })
	}
	return nil
}

func collect[T any](n int, at func(k int) T) []T {
	out := make([]T, n)
	for k := range out {
		out[k] = at(k)
	}
	return out
}

// Rows fills a slice of structs, to which rows points, with the rows of the
// frame: a field gets the column of its name, or of the name in its tag csv, in
// upper or lower case. A field without a column keeps its zero value, but a
// column that a tag names must be there.
func (f Frame) Rows(rows any) error {
	v := reflect.ValueOf(rows)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Slice || v.Type().Elem().Elem().Kind() != reflect.Struct {
		return fmt.Errorf("frame: Rows takes a pointer to a slice of structs, not %T", rows)
	}
	t := v.Type().Elem().Elem()
	out := reflect.MakeSlice(v.Type().Elem(), f.rows, f.rows)
	found := 0
	for i := range t.NumField() {
		field := t.Field(i)
		name, ok := nameOf(field)
		if !ok {
			continue
		}
		j := f.index(name)
		if j < 0 {
			j = slices.IndexFunc(f.columns, func(c column) bool { return strings.EqualFold(c.name, name) })
		}
		if j < 0 {
			if field.Tag.Get("csv") != "" {
				return fmt.Errorf("frame: there is no column %q for the field %s; the columns are %s", name, field.Name, strings.Join(f.Names(), ", "))
			}
			continue
		}
		found++
		if err := f.columns[j].fill(out, i); err != nil {
			return err
		}
	}
	if found == 0 && t.NumField() > 0 {
		return fmt.Errorf("frame: no field of %s has a column; the columns are %s", t, strings.Join(f.Names(), ", "))
	}
	v.Elem().Set(out)
	return nil
}

// fill sets field i of every struct of a slice.
func (c column) fill(out reflect.Value, i int) error {
	t := out.Type().Elem().Field(i).Type
	mismatch := fmt.Errorf("frame: column %q holds %s, and the field %s is a %s", c.name, c.kind(), out.Type().Elem().Field(i).Name, t)
	number := reflect.Int <= t.Kind() && t.Kind() <= reflect.Float64 && t.Kind() != reflect.Uintptr
	for k := range out.Len() {
		field := out.Index(k).Field(i)
		x := reflect.ValueOf(c.value(k))
		switch {
		case t.Kind() == reflect.String:
			field.SetString(c.text(k))
		case x.Type().AssignableTo(t):
			field.Set(x)
		case number && x.CanInt(), x.CanFloat() && field.CanFloat():
			field.Set(x.Convert(t))
			if x.CanInt() && (field.CanInt() && field.Int() != x.Int() || field.CanUint() && (x.Int() < 0 || int64(field.Uint()) != x.Int())) {
				return fmt.Errorf("frame: row %d of column %q: %d does not fit into the field's %s", k, c.name, x.Int(), t)
			}
		case t.Kind() == reflect.Bool && x.Kind() == reflect.Bool:
			field.SetBool(x.Bool())
		default:
			return mismatch
		}
	}
	return nil
}
