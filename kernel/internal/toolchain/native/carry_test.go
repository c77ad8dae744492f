package native_test

import (
	"context"
	"expvar"
	"testing"

	"dace.local/kernel/gocell"
	"dace.local/kernel/internal/toolchain/native"
)

// A function of cells is built elsewhere, and where nothing can be built it is
// loaded from what another process has built, else interpreted.
func TestCarry(t *testing.T) {
	l := ready(t)
	s := session(t, l)
	if text := run(t.Context(), s, 1, "%%compile\nvar table = []float64{1, 2, 4}\nfunc weight(i int) float64 { return table[i] }\nfunc objective(x []bool) (v float64) {\n\tfor i, b := range x {\n\t\tif b {\n\t\t\tv += weight(i)\n\t\t}\n\t}\n\treturn v\n}"); text != "" {
		t.Fatal(text)
	}
	carried := take(t, s, "objective")
	const expression = "objective([]bool{true, false, true})"
	m, err := carried.Make(context.Background(), gocell.Options{Compiler: l}, expression)
	if err != nil || m.Value != 5.0 || m.Path == "" {
		t.Fatalf("%+v, %v\n%s", m, err, carried.Text)
	}
	stored := l.Stored(m.Path)
	if stored == nil {
		t.Fatal("it is not stored")
	}
	without := &native.Loader{Cache: t.TempDir(), Env: []string{"PATH=" + t.TempDir()}}
	m, err = carried.Make(context.Background(), gocell.Options{Compiler: &pathless{without}}, expression)
	if err != nil || m.Value != 5.0 || m.Path != "" || m.Why == "" {
		t.Errorf("interpreted: %+v, %v", m, err)
	}
	if err := without.Accept(stored); err != nil {
		t.Fatal(err)
	}
	if again := without.Stored(pathOf(t, carried, l)); string(again) != string(stored) {
		t.Errorf("it is stored as %d bytes, want %d", len(again), len(stored))
	}
	for _, bad := range []string{"", "x\ny", "../../c0123456789abcdef0123\nx"} {
		if err := without.Accept([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// take returns what describes a function of a session.
func take(t *testing.T, s *gocell.Session, name string) *gocell.Function {
	t.Helper()
	if text := run(t.Context(), s, 2, "import \"expvar\"\nexpvar.Publish(\""+t.Name()+"\", expvar.Func(func() any { return "+name+" }))"); text != "" {
		t.Fatal(text)
	}
	f, err := s.Carry(expvar.Get(t.Name()).(expvar.Func)())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pathless hides what this process has loaded already.
type pathless struct{ *native.Loader }

func (p *pathless) Load(ctx context.Context, path string, sources map[string]string, modules string) (map[string]any, error) {
	renamed := map[string]string{}
	for k, v := range sources {
		if k == path {
			k += "0"
		}
		renamed[k] = v
	}
	return p.Loader.Load(ctx, path+"0", renamed, modules)
}

func pathOf(t *testing.T, f *gocell.Function, l *native.Loader) string {
	t.Helper()
	m, err := f.Make(context.Background(), gocell.Options{Compiler: l}, "objective([]bool{true, true, true})")
	if err != nil || m.Value != 7.0 {
		t.Fatalf("%+v, %v", m, err)
	}
	return m.Path
}
