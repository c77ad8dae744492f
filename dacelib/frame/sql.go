package frame

import (
	"fmt"
	"math"
	"time"
)

// Records are the result of a query: a *sql.Rows of database/sql.
type Records interface {
	Columns() ([]string, error)
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// FromSQL reads the result of a query to its end and closes it:
//
//	frame.FromSQL(must(db.Query("SELECT method, value FROM runs")))
//
// A column holds whole numbers, numbers, truth values or times if all its values
// that are not NULL are such, else texts. NULL is missing: NaN among numbers, of
// which whole ones become floating-point ones, the zero time, or an empty text. A
// column of truth values with a NULL holds texts.
func FromSQL(records Records) (f Frame, err error) {
	defer func() {
		if e := records.Close(); err == nil && e != nil {
			err = fmt.Errorf("frame: %w", e)
		}
	}()
	names, err := records.Columns()
	if err != nil {
		return Frame{}, fmt.Errorf("frame: %w", err)
	}
	if twice := repeated(names); twice != "" {
		return Frame{}, fmt.Errorf("frame: the query has two columns %q; name one of them anew (AS)", twice)
	}
	columns := make([][]any, len(names))
	row, into := make([]any, len(names)), make([]any, len(names))
	for j := range row {
		into[j] = &row[j]
	}
	rows := 0
	for ; records.Next(); rows++ {
		if err := records.Scan(into...); err != nil {
			return Frame{}, fmt.Errorf("frame: row %d: %w", rows+1, err)
		}
		for j, v := range row {
			if text, ok := v.([]byte); ok {
				v = string(text)
			}
			columns[j] = append(columns[j], v)
		}
	}
	if err := records.Err(); err != nil {
		return Frame{}, fmt.Errorf("frame: after %d rows: %w", rows, err)
	}
	f.rows = rows
	for j, name := range names {
		f.columns = append(f.columns, column{name, ofValues(columns[j])})
	}
	return f, nil
}

// ofValues returns the values of a driver as a column.
func ofValues(values []any) any {
	var ints, floats, bools, times, nulls int
	for _, v := range values {
		switch v.(type) {
		case int64:
			ints++
		case float64, float32:
			floats++
		case bool:
			bools++
		case time.Time:
			times++
		case nil:
			nulls++
		}
	}
	n := len(values)
	switch {
	case n == nulls: // also of no rows
	case ints == n:
		return collect(n, func(k int) int { return int(values[k].(int64)) })
	case ints+floats+nulls == n:
		return collect(n, func(k int) float64 {
			switch v := values[k].(type) {
			case int64:
				return float64(v)
			case float64:
				return v
			case float32:
				return float64(v)
			}
			return math.NaN()
		})
	case bools == n:
		return collect(n, func(k int) bool { return values[k].(bool) })
	case times+nulls == n:
		return collect(n, func(k int) time.Time { t, _ := values[k].(time.Time); return t })
	}
	return collect(n, func(k int) string {
		if values[k] == nil {
			return ""
		}
		return fmt.Sprint(values[k])
	})
}
