package frame

import (
	"database/sql"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

var _ Records = (*sql.Rows)(nil)

// records are rows as a driver of database/sql returns them.
type records struct {
	names  []string
	rows   [][]any
	at     int
	scan   error
	end    error
	closed error
	calls  int // of Close
}

func (r *records) Columns() ([]string, error) { return r.names, nil }
func (r *records) Next() bool                 { r.at++; return r.at <= len(r.rows) }
func (r *records) Err() error                 { return r.end }
func (r *records) Close() error               { r.calls++; return r.closed }
func (r *records) Scan(dest ...any) error {
	for j, d := range dest {
		*d.(*any) = r.rows[r.at-1][j]
	}
	return r.scan
}

func TestFromSQL(t *testing.T) {
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	r := &records{
		names: []string{"whole", "some", "mixed", "true", "day", "text", "bytes", "odd", "null"},
		rows: [][]any{
			{int64(1), int64(3), int64(1), true, day, "a", []byte("x"), true, nil},
			{int64(2), nil, 0.5, false, nil, nil, []byte("y"), nil, nil},
		},
	}
	f, err := FromSQL(r)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"whole": []int{1, 2},
		"mixed": []float64{1, 0.5},
		"true":  []bool{true, false},
		"day":   []time.Time{day, {}},
		"text":  []string{"a", ""},
		"bytes": []string{"x", "y"},
		"odd":   []string{"true", ""},
		"null":  []string{"", ""},
	} {
		if got := f.Column(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if v := f.Floats("some"); v[0] != 3 || v[1] == v[1] {
		t.Errorf("some: %v", v)
	}
	if f.Len() != 2 || r.calls != 1 {
		t.Errorf("%d rows, closed %d times", f.Len(), r.calls)
	}
}

func TestFromSQLErrors(t *testing.T) {
	lost := errors.New("lost")
	one := [][]any{{int64(1)}}
	for want, r := range map[string]*records{
		`two columns "a"`:    {names: []string{"a", "a"}},
		"frame: row 1: lost": {names: []string{"a"}, rows: one, scan: lost},
		"after 1 rows: lost": {names: []string{"a"}, rows: one, end: lost},
		"frame: lost":        {names: []string{"a"}, rows: one, closed: lost},
	} {
		if _, err := FromSQL(r); err == nil || !strings.Contains(err.Error(), want) || r.calls != 1 {
			t.Errorf("%q: %v, closed %d times", want, err, r.calls)
		}
	}
	if f, err := FromSQL(&records{names: []string{"a"}}); err != nil || f.Len() != 0 || !f.Has("a") {
		t.Errorf("no rows: %v, %v", f, err)
	}
}
