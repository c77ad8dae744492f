package external

import (
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"dace.local/dacelib/smac"
)

func mustParse(t *testing.T, parse func(string) (Params, error), text string) Params {
	t.Helper()
	p, err := parse(text)
	if err != nil {
		t.Fatalf("%v of\n%s", err, text)
	}
	return p
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// at returns the point with values, the others at their defaults.
func at(t *testing.T, p Params, values map[string]string) []float64 {
	t.Helper()
	point := p.Space.Default()
	for name, v := range values {
		i := paramOf(p.Space, name)
		if i < 0 {
			t.Fatalf("no parameter %s", name)
		}
		x, err := p.number(i, v)
		if err != nil {
			t.Fatal(err)
		}
		point[i] = x
	}
	return p.Space.Canonical(point)
}

func TestIraceParameters(t *testing.T) {
	p := mustParse(t, ParseIrace, read(t, "testdata/irace/parameters.txt"))
	if p.Digits != 3 || !reflect.DeepEqual(p.Order, []string{"steps", "walk", "flips", "chance", "extra", "most"}) {
		t.Errorf("%d digits, order %v", p.Digits, p.Order)
	}
	for _, c := range []struct {
		values map[string]string
		want   string // "forbidden", or the arguments
	}{
		{map[string]string{"walk": "up", "steps": "9"}, "--steps 9 --walk=up --flips one"},
		{map[string]string{"walk": "random", "steps": "9", "chance": "0.12345", "extra": "--verbose 1", "most": "9"}, "--steps 9 --walk=random --flips one -c0.123 --verbose 1 --most 9"},
		{map[string]string{"walk": "random", "steps": "4", "chance": "0.1", "most": "1"}, "--steps 4 --walk=random --flips one --most 1"},
		{map[string]string{"walk": "random", "steps": "9", "most": "10"}, "forbidden"},
		{map[string]string{"walk": "down", "steps": "61"}, "forbidden"},
		{map[string]string{"walk": "down", "steps": "60"}, "--steps 60 --walk=down"},
		{map[string]string{"walk": "random", "steps": "9", "chance": "1", "flips": "three", "most": "1"}, "forbidden"},
		// chance is not active, so that the comparison with it is not true.
		{map[string]string{"walk": "random", "steps": "3", "chance": "1", "flips": "three", "most": "1"}, "--steps 3 --walk=random --flips three --most 1"},
	} {
		point := at(t, p, c.values)
		got := "forbidden"
		if err := p.Space.CheckConfig(point); err == nil {
			args, err := p.Arguments(point)
			if err != nil {
				t.Fatal(err)
			}
			got = strings.Join(args, " ")
		} else if !strings.Contains(err.Error(), "forbidden") {
			t.Error(err)
		}
		if got != c.want {
			t.Errorf("%v: %s; want %s", c.values, got, c.want)
		}
	}
}

// TestConditionsOfR compares conditions with what R makes of them, NA included
// (irace's rule: a condition that is NA does not hold).
func TestConditionsOfR(t *testing.T) {
	base := `mode "" c (x, y)
z "" i (1, 10)
off "" i (1, 10) | mode == "y"
level "" o (low, mid, high)
num "" c (1, 2, 10)
`
	for cond, want := range map[string]bool{ // mode = x, z = 5, off is NA, level = mid, num = 2
		`z == 5`: true, `z != 5`: false, `z > 4 & z < 6`: true, `!(z > 4)`: false, `! z > 4 | TRUE`: true,
		`off == 5`: false, `off != 5`: false, `off == 5 | z == 5`: true, `!(off == 5)`: false, `off %in% c(5)`: false, `!(off %in% c(5))`: true,
		`level >= "mid"`: true, `"mid" > level`: false, `level == "high"`: false, `num %in% c(1, 2)`: true, `num > 1.5`: true, `num == "10"`: false,
		`z + 2 * 3 == 11`: true, `(z - 1) / 2 == 2`: true, `2^2^0 * z == 10`: true, `-z < -4`: true, `min(z, 3) == 3 && max(z, 7, 8) == 8`: true,
		`mode %in% c("x")`: true, `mode != "x"`: false, `z %in% 5`: true, `z %in% c(1, 2 + 3)`: true, `sqrt(abs(-z * 5)) == 5`: true,
		`TRUE`: true, `z == 5 || off == 1`: true, "floor(z / 2) == 2": true,
	} {
		p, err := ParseIrace(base + `it "" i (1, 2) | ` + cond)
		if err != nil {
			t.Errorf("%s: %v", cond, err)
			continue
		}
		point := at(t, p, map[string]string{"mode": "x", "z": "5", "level": "mid", "num": "2"})
		if got := p.Space.Active(point)[paramOf(p.Space, "it")]; got != want {
			t.Errorf("%s: %v, want %v", cond, got, want)
		}
	}
}

func TestPCS(t *testing.T) {
	p := mustParse(t, ParsePCS, read(t, "testdata/smac/params.pcs"))
	for want, values := range map[string]map[string]string{
		"-walk up -sp-steps 8 -flips one":                    {},
		"-walk random -sp-steps 5 -chance 0.0625 -flips two": {"walk": "random", "sp-steps": "5", "chance": "0.0625", "flips": "two"},
		"-walk random -sp-steps 4 -flips one":                {"walk": "random", "sp-steps": "4"},
		"-walk down -sp-steps 63":                            {"walk": "down", "sp-steps": "63"},
		"forbidden":                                          {"walk": "down", "sp-steps": "64"},
		"forbidden ":                                         {"walk": "random", "chance": "0.95", "flips": "three"},
	} {
		point := at(t, p, values)
		got := "forbidden"
		if p.Space.CheckConfig(point) == nil {
			args, _ := p.Arguments(point)
			got = strings.Join(args, " ")
		}
		if got != strings.TrimSpace(want) {
			t.Errorf("%v: %s; want %s", values, got, want)
		}
	}
	old := mustParse(t, ParsePCS, read(t, "testdata/smac/old.pcs"))
	rate := old.Space.Params[paramOf(old.Space, "rate")]
	if steps := old.Space.Params[paramOf(old.Space, "sp-steps")]; steps.Kind != smac.Int || !steps.Log || rate.Kind != smac.Float || !rate.Log || rate.Default != 0.1 {
		t.Errorf("%+v, %+v", steps, rate)
	}
	if on := old.Space.Active(at(t, old, map[string]string{"sp-steps": "2"})); !on[paramOf(old.Space, "rate")] || on[paramOf(old.Space, "chance")] {
		t.Error(on)
	}
}

// TestAndOr follows ConfigSpace: && binds more strongly than ||, in the order of an
// ordinal's values.
func TestAndOr(t *testing.T) {
	p := mustParse(t, ParsePCS, `a integer [0, 10] [0]
b integer [0, 10] [0]
c integer [0, 10] [0]
x ordinal {red, blue, green} [red]
d real [0, 1] [0.5]
e categorical {on} [on]
d | a < 5 && b > 5 || c < 5 && b > 8
e | x > red`)
	for _, c := range []struct {
		a, b, c, x string
		d, e       bool
	}{{"4", "6", "9", "red", true, false}, {"5", "6", "0", "blue", false, true}, {"5", "9", "0", "green", true, true}, {"5", "9", "5", "red", false, false}} {
		on := p.Space.Active(at(t, p, map[string]string{"a": c.a, "b": c.b, "c": c.c, "x": c.x}))
		if on[paramOf(p.Space, "d")] != c.d || on[paramOf(p.Space, "e")] != c.e {
			t.Errorf("%+v: %v", c, on)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "no parameters",
		`a "--a" x (1,2)`:             "is no parameter",
		`a --a i (1,2)`:               "switch in double quotes",
		`a "--a" i (1,2`:              "no closing parenthesis",
		`a "--a" i (2,1)`:             "lower bound below",
		`a "--a" i (1.5,2)`:           "whole numbers",
		`a "--a" r,log (0,2)`:         "positive lower bound",
		`a "--a" r (0.00001,0.00002)`: "digits",
		`a "--a" i (1,2,3)`:           "two numbers",
		`a "--a" c (x,x)`:             "twice",
		`a "--a" c (x,)`:              "empty value",
		"a \"\" c (x)\na \"\" c (y)":  "line 2: a second parameter a",
		`a "" i (1,9) | b == 2`:       "b is no parameter",
		`a "" i (1,9) | a == 2`:       "depends on itself",
		`a "" i (1,9) b`:              "where | and a condition",
		"m \"\" c (x,y)\na \"\" i (1,9) | m == \"z\"": `m has no value "z"`,
		"m \"\" c (x,y)\na \"\" i (1,9) | m > \"x\"":  "without an order",
		"m \"\" c (x,y)\na \"\" i (1,9) | m + 1 == 2": "is categorical",
		"a \"\" i (1,9)\nb \"\" i (1,9) | sin(a) > 0": "the function sin",
		"a \"\" i (1,9)\nb \"\" i (1,9) | a %o% 3":    "operation %o%",
		"a \"\" i (1,9)\n[forbidden]\na >":            "where a value is expected",
		"a \"\" i (1,9)\n[forbidden]\na > 0":          "forbidden",
		"a \"\" i (1,9)\n[global]\ndigits = 40":       "from 1 to 15",
		"a \"\" i (1,9)\n[other]":                     "no section [other]",
		"a \"\" i (1,9)\nb \"\" r (1, 1/(a-5))":       "depends on parameters by /",
	} {
		if _, err := ParseIrace(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`a {x,y}`:                                        "is neither",
		`a {x,y} [z]`:                                    `no value "z"`,
		`a [0,1] [2]`:                                    "outside of its range",
		`a [0,1] [0.5]q`:                                 "where i, l or il",
		`a [0,1] [0.5]l`:                                 "positive lower bound",
		"a {x,y} [x]\nb | a in {x}":                      "which is no parameter",
		"a {x,y} [x]\na | b in {x}":                      "which is no parameter",
		"a {x,y} [x]\nb {x} [x]\nb | a in {z}":           `no value "z"`,
		"a {x,y} [x]\nb {x} [x]\nb | a on {x}":           "is no condition",
		"a {x,y} [x]\n{a=x":                              "ends with a brace",
		"a {x,y} [x]\n{a=z}":                             "",
		"a {x,y} [x]\nb {x} [x]\nb|a in {x}\na|b in {x}": "depends on itself",
	} {
		if _, err := ParsePCS(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// TestRandomPoints draws configurations of a space with all kinds of relations:
// each is allowed and has arguments.
func TestRandomPoints(t *testing.T) {
	for _, p := range []Params{mustParse(t, ParseIrace, read(t, "testdata/irace/parameters.txt")), mustParse(t, ParsePCS, read(t, "testdata/smac/params.pcs"))} {
		rng := rand.New(rand.NewPCG(1, 1))
		for range 300 {
			x := p.Space.Random(rng)
			for range 3 {
				if err := p.Space.CheckConfig(x); err != nil {
					t.Fatal(err)
				}
				if _, err := p.Arguments(x); err != nil {
					t.Fatal(err)
				}
				x = p.Space.Neighbour(x, rng)
			}
		}
	}
}

func fuzzParams(f *testing.F, parse func(string) (Params, error)) {
	for _, name := range []string{"irace/parameters.txt", "smac/params.pcs", "smac/old.pcs"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("a \"\" i (-3, \"b*2\")\nb \"x'\" o (\"\", z, \"q r\") | !(a %in% c(1,2)) & -a^2 < 3\n[forbidden]\na == 2 | b == \"z\"")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse(text)
		if err != nil {
			return
		}
		if err := p.Space.Check(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Arguments(p.Space.Default()); err != nil && !strings.Contains(err.Error(), "quote") {
			t.Fatal(err)
		}
		x := p.Space.Random(rand.New(rand.NewPCG(1, 1)))
		if err := p.Space.CheckConfig(x); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzIrace(f *testing.F) { fuzzParams(f, ParseIrace) }
func FuzzPCS(f *testing.F)   { fuzzParams(f, ParsePCS) }

func FuzzScenario(f *testing.F) {
	for _, name := range []string{"irace/scenario.txt", "smac/scenario.txt"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("x = c('a', \"b\", 3)\nmaxExperiments <- -2^3 * (1 + x)")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "/") && !strings.Contains(text, "testdata") || strings.Contains(text, "..") {
			return // other folders
		}
		for _, read := range []func(string, string) (*Scenario, error){readIrace, readSMAC} {
			if s, err := read(text, t.TempDir()); err == nil && (s.Runs < 0 || s.Seconds < 0 || len(s.Runner.Args) == 0) {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func FuzzOutput(f *testing.F) {
	f.Add("1.5 2\n")
	f.Add("x\nResult for SMAC: SUCCESS, 0.1, 0, 3, 4, more\n")
	f.Add("Result of this algorithm run: {\"status\": \"SUCCESS\", \"cost\": \"1e400\", \"runtime\": null}")
	f.Fuzz(func(t *testing.T, out string) {
		for c := Irace; c <= AClib; c++ {
			for _, rt := range []bool{false, true} {
				r := Runner{Convention: c, Runtime: rt, Cutoff: 2}
				if v, err := r.parse(out, 0.5); err == nil && (math.IsNaN(v) || math.IsInf(v, 1)) {
					t.Fatalf("%v of %q", v, out)
				}
			}
		}
	})
}

func FuzzConfigurations(f *testing.F) {
	p, err := ParseIrace(`a "-a " i (1, 9)` + "\n" + `b "-b " c (x, "y z")`)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("a b\n1 x\nNA \"y z\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := p.configurations(text)
		if err != nil {
			return
		}
		for _, row := range rows {
			q := p
			q.Space.Params = append([]smac.Param(nil), p.Space.Params...)
			if err := q.Default(row); err != nil {
				t.Fatal(err)
			}
		}
	})
}
