package experiment_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"dace.local/dacelib/experiment"
)

// tested returns the records of a method's construction, a value for each instance.
func tested(method string, construction uint64, values ...float64) []experiment.Record {
	var records []experiment.Record
	for i, v := range values {
		records = append(records, experiment.Record{
			Class: "nk", Instance: fmt.Sprint(i), Dim: 40, Evaluations: 800, Method: method, Construction: construction, Mean: v,
		})
	}
	return records
}

// six adds a constant to six values that differ.
func six(plus float64) []float64 {
	v := make([]float64, 6)
	for i := range v {
		v[i] = plus + 0.01*float64(i*i)
	}
	return v
}

func records(of ...[]experiment.Record) []experiment.Record {
	var all []experiment.Record
	for _, r := range of {
		all = append(all, r...)
	}
	return all
}

// Differences of constructions are taken by seed, and against construction 0 of a
// method without one. The limits are by hand: differences 0.1, 0.2 and 0.3 have the
// mean 0.2 and the standard error 0.1/sqrt 3, and Student's t with two degrees of
// freedom has the quantile 4.302653 at 0.975 (any table). Six differences of one sign
// have p = 2/2^6, the least of the signed-rank test; Holm doubles the less of two.
func TestGains(t *testing.T) {
	all := records(
		tested("ALL", 0, six(0)...),
		tested("A", 1, six(0.1)...), tested("A", 2, six(0.2)...), tested("A", 3, six(0.3)...),
		tested("B", 2, six(0.2)...), tested("B", 3, six(0.25)...), tested("B", 4, six(9)...),
	)
	gains, err := experiment.Gains(all, []experiment.Contrast{{"a", "A", "ALL"}, {"none", "C", "A"}, {"b", "B", "A"}})
	if err != nil || len(gains) != 2 {
		t.Fatal(gains, err)
	}
	a, b := gains[0], gains[1]
	half := 4.302653 * 0.1 / math.Sqrt(3)
	if a.Class != "nk" || a.Dim != 40 || a.Evaluations != 800 || a.Constructions != 3 || a.Ahead != 3 {
		t.Errorf("%+v", a)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{{"mean", a.Mean, 0.2}, {"low", a.Low, 0.2 - half}, {"high", a.High, 0.2 + half}, {"p", a.P, 2 * 2.0 / 64}, {"mean of b", b.Mean, -0.025}} {
		if math.Abs(c.got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	if b.Constructions != 2 || b.Ahead != 0 {
		t.Errorf("pairs of one seed alone count: %+v", b)
	}
}

// A difference is beyond chance where its interval and the test agree.
func TestGainSign(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		low, high, p float64
		want         int
	}{{0.1, 0.2, 0.01, 1}, {-0.2, -0.1, 0.01, -1}, {-0.1, 0.2, 0.01, 0}, {0.1, 0.2, 0.05, 0}, {nan, nan, 0.01, 0}, {0, 0, 0.01, 0}, {0.1, 0.2, nan, 0}} {
		if got := (experiment.Gain{Low: c.low, High: c.high, P: c.p}).Sign(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestGainsErrors(t *testing.T) {
	contrast := []experiment.Contrast{{"a", "A", "B"}}
	for _, c := range []struct {
		records []experiment.Record
		want    string
	}{
		{nil, "no two constructions"},
		{tested("A", 1, 1, 2), "no two constructions"},
		{records(tested("A", 1, 1, 2), tested("B", 1, 1)), "same instances"},
		{records(tested("A", 1, 1, 2), tested("B", 1, 1, 2), tested("A", 2, 1, 2, 3), tested("B", 2, 1, 2, 3)), "same instances"},
		{records(tested("A", 1, 1), tested("A", 1, 1)), "two records of A, construction 1, on 0 with 800"},
	} {
		if _, err := experiment.Gains(c.records, contrast); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// Two methods with three constructions each on six instances, and one construction with
// more evaluations.
func ExampleGainsMarkdown() {
	var records []experiment.Record
	add := func(method string, construction uint64, evaluations int, mean float64) {
		for i := range 6 {
			records = append(records, experiment.Record{
				Class: "nk", Dim: 40, Instance: fmt.Sprint(i), Evaluations: evaluations,
				Method: method, Construction: construction, Mean: mean + 0.01*float64(i*i),
			})
		}
	}
	for seed := range uint64(3) {
		add("ONE", 1+seed, 800, 1)
		add("DACE", 1+seed, 800, 1.10+0.01*float64(seed))
	}
	add("ONE", 1, 5000, 1.2)
	add("DACE", 1, 5000, 1.19)
	gains, err := experiment.Gains(records, []experiment.Contrast{{"harder networks", "DACE", "ONE"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(experiment.GainsMarkdown(gains))
	// Output:
	// | gained by | class | 800 evaluations | 5,000 evaluations |
	// |---|---|---|---|
	// | harder networks: DACE − ONE | NK, d = 40 | **+0.110 ± 0.025** | −0.010 (n = 1) |
}
