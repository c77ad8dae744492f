package nir

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

func TestSaveLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			s.NormaliseSample = 2000
			m := randomModel(t, 12, 3, s)
			m.history = []Record{{Step: s.withDefaults(12).Steps, Validation: Losses{Total: 0.5, Scorer: []float64{1, 2, 3}}}}
			path := filepath.Join(t.TempDir(), "model.npz")
			for range 2 { // the second pass overwrites the file
				if err := m.Save(path); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.params, m.params) || !slices.Equal(got.stats, m.stats) || got.Losses().Total != 0.5 || !slices.Equal(got.Names(), m.Names()) {
				t.Error("the model differs")
			}
			a, b := got.Settings(), m.Settings()
			if a.Input != b.Input || a.Activation != b.Activation || a.KLWeight != b.KLWeight || a.NormaliseSample != b.NormaliseSample {
				t.Errorf("settings %+v, want %+v", a, b)
			}
			x := problem.Random(run.Rand(3, "test"), 100, 12)
			score := func(m *Model) []float64 {
				p, err := m.Instance(bg, "", m.Embeddings()[2])
				if err != nil {
					t.Fatal(err)
				}
				y := make([]float64, 100)
				if err := p.Evaluate(bg, y, x); err != nil {
					t.Fatal(err)
				}
				return y
			}
			if !slices.Equal(score(got), score(m)) {
				t.Error("the scores differ")
			}
			if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
				t.Errorf("%d files are left (%v)", len(entries), err)
			}
		})
	}
}

// rewrite copies an archive with entries changed; a nil entry is dropped.
func rewrite(t *testing.T, file []byte, change func(name string, b []byte) []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if b = change(f.Name, b); b == nil {
			continue
		}
		e, err := w.CreateHeader(&zip.FileHeader{Name: f.Name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestLoadBadFile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var good bytes.Buffer
	m := randomModel(t, 12, 1, Settings{BatchNorm: true})
	m.history = []Record{{Step: 7, Validation: Losses{Scorer: []float64{0.25}}}}
	size := func() []float32 { return make([]float32, m.shape.size) }
	m.training = &checkpoint{step: 9, params: size(), first: size(), second: size(), stats: slices.Clone(m.stats), best: 0.5}
	if err := m.Write(&good); err != nil {
		t.Fatal(err)
	}
	// last returns a change that replaces the last number of an array.
	last := func(file string, v float32) func(string, []byte) []byte {
		return func(name string, b []byte) []byte {
			if name == file {
				binary.LittleEndian.PutUint32(b[len(b)-4:], math.Float32bits(v))
			}
			return b
		}
	}
	replace := func(file, old, new string) func(string, []byte) []byte {
		return func(name string, b []byte) []byte {
			if name == file {
				return bytes.Replace(b, []byte(old), []byte(new), 1)
			}
			return b
		}
	}
	for _, tc := range []struct {
		name   string
		change func(string, []byte) []byte
		want   string
	}{
		{"other version", replace("meta.json", `"version": 2`, `"version": 3`), "version 3 of the format, and this program reads versions 1 to 2"},
		{"other format", replace("meta.json", fileFormat, "nothing"), "not the file of a model"},
		{"settings", replace("meta.json", `"Latent": 12`, `"Latent": -12`), "Latent is -12"},
		{"other shape", replace("meta.json", `"Latent": 12`, `"Latent": 11`), `"e3.W": its shape should be (128, 22)`},
		{"double precision", replace("e1.W.npy", "<f4", "<f8"), "not single-precision"},
		{"no magic", replace("e1.W.npy", "NUMPY", "numpy"), "not in numpy's format"},
		{"missing", func(name string, b []byte) []byte {
			if name == "d2.W.npy" {
				return nil
			}
			return b
		}, `"d2.W" is missing`},
		{"cut off", func(name string, b []byte) []byte {
			if name == "d2.W.npy" {
				return b[:len(b)-7]
			}
			return b
		}, `"d2.W": it is cut off`},
		{"nothing but a header", func(name string, b []byte) []byte {
			if name == "d2.W.npy" {
				return b[:128]
			}
			return b
		}, `"d2.W" has 128 bytes, too few for the shape (128, 128)`},
		{"no header", func(name string, b []byte) []byte {
			if name == "training.d2.W.npy" {
				return b[:50]
			}
			return b
		}, `"training.d2.W": its header is cut off`},
		{"no training", func(name string, b []byte) []byte {
			if strings.HasPrefix(name, "training.") {
				return nil
			}
			return b
		}, "the state of its training is missing"},
		{"not JSON", replace("meta.json", `"names": [`, `"names": `), "meta.json"},
		{"losses", replace("meta.json", `"Scorer": [`, `"Scorer": [1,`), "1 instances, but losses of 2 scorers at step 7"},
		{"status", replace("meta.json", `"status": 0`, `"status": -1`), "its status is -1"},
		{"training's step", replace("meta.json", `"step": 9`, `"step": 900000`), "its training is at step 900000 of 12000"},
		{"huge sample", replace("meta.json", `"NormaliseSample": 10000000`, `"NormaliseSample": 9000000000000000000`), "NormaliseSample is 9000000000000000000"},
		{"variance", last("statistics.npy", -1), "number 1023 is a variance of -1"},
		{"training's variance", last("training.statistics.npy", -1), "number 1023 is a variance of -1"},
		{"mean square", last("training.second.e1.b.npy", -2), "cannot be negative"},
		{"infinite", last("training.e1.b.npy", float32(math.Inf(1))), "number 127 is +Inf"},
		{"too long", func(name string, b []byte) []byte {
			if name == "d2.W.npy" {
				return append(b, 1, 2, 3)
			}
			return b
		}, `3 bytes too many`},
		{"NaN", last("e1.b.npy", float32(math.NaN())), "number 127 is NaN"},
	} {
		file := rewrite(t, good.Bytes(), tc.change)
		_, err := Read(bytes.NewReader(file), int64(len(file)))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", tc.name, err, tc.want)
		}
	}
	if m, err := Read(bytes.NewReader(good.Bytes()), int64(good.Len())); err != nil || m.training.step != 9 {
		t.Errorf("the good file: %v", err)
	}
	// The file is truncated, or a byte in the middle of an array is changed.
	for _, n := range []int{0, 10, good.Len() / 2, good.Len() - 1} {
		if _, err := Read(bytes.NewReader(good.Bytes()[:n]), int64(n)); err == nil || !strings.Contains(err.Error(), "not the file of a model, or it is cut off") {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	flipped := bytes.Clone(good.Bytes())
	flipped[good.Len()/2] ^= 1
	if _, err := Read(bytes.NewReader(flipped), int64(len(flipped))); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a bit flipped: %v", err)
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "x.npz: this is not the file of a model") {
		t.Errorf("a text file: %v", err)
	}
	if _, err := Load(path + "x"); err == nil {
		t.Error("no file: no error")
	}
}

// fuzzFile returns a function that makes the file of a small model, which is
// short because its numbers are zero and deflated. The arguments replace its
// meta.json and one of its arrays.
func fuzzFile(f *testing.F) func(meta []byte, name string, array []byte) []byte {
	m, err := Random(2, 1, Settings{Latent: 1, Input: Mean, BatchNorm: true})
	if err != nil {
		f.Fatal(err)
	}
	clear(m.params)
	var plain bytes.Buffer
	if err := m.Write(&plain); err != nil {
		f.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(plain.Bytes()), int64(plain.Len()))
	if err != nil {
		f.Fatal(err)
	}
	var small bytes.Buffer
	w := zip.NewWriter(&small)
	contents := map[string][]byte{}
	for _, e := range z.File {
		r, err := e.Open()
		if err != nil {
			f.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			f.Fatal(err)
		}
		contents[e.Name] = b
		to, err := w.Create(e.Name)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := to.Write(b); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	z, err = zip.NewReader(bytes.NewReader(small.Bytes()), int64(small.Len()))
	if err != nil {
		f.Fatal(err)
	}
	return func(meta []byte, name string, array []byte) []byte {
		if meta == nil && array == nil {
			return small.Bytes()
		}
		if meta == nil {
			meta = contents["meta.json"]
		}
		if array == nil {
			array = contents[name]
		}
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, e := range z.File {
			var b []byte
			switch e.Name {
			case "meta.json":
				b = meta
			case name:
				b = array
			default:
				if err := w.Copy(e); err != nil {
					panic(err)
				}
				continue
			}
			to, err := w.Create(e.Name)
			if err == nil {
				_, err = to.Write(b)
			}
			if err != nil {
				panic(err)
			}
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		return out.Bytes()
	}
}

// readAndUse reads a file that may be damaged. If Read accepts it, the model
// must work, and must be the same after it is written and read again.
func readAndUse(t *testing.T, data []byte) {
	m, err := Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	if m.Dim() < 1 || len(m.Embeddings()) != len(m.Names()) {
		t.Fatalf("a model of dimension %d with %d embeddings of %d instances", m.Dim(), len(m.Embeddings()), len(m.Names()))
	}
	s, err := m.Scorer(make([]float64, EmbeddingSize))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Evaluate(bg, make([]float64, 3), problem.NewSolutions(3, m.Dim())); err != nil {
		t.Fatal(err)
	}
	_, _, _ = m.Losses(), m.History(), m.Status().String()
	var again bytes.Buffer
	if err := m.Write(&again); err != nil {
		t.Fatal(err)
	}
	other, err := Read(bytes.NewReader(again.Bytes()), int64(again.Len()))
	if err != nil || !slices.Equal(other.params, m.params) || !slices.Equal(other.names, m.names) {
		t.Fatalf("written and read again, the model differs: %v", err)
	}
}

// FuzzRead reads arbitrary bytes as a file.
func FuzzRead(f *testing.F) {
	file := fuzzFile(f)(nil, "", nil)
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(readAndUse)
}

// FuzzReadParts reads arbitrary bytes as the settings and one array of a file.
// The archive's checksums keep [FuzzRead] from reaching these parts.
func FuzzReadParts(f *testing.F) {
	build := fuzzFile(f)
	m, err := Random(2, 1, Settings{Latent: 1, Input: Mean, BatchNorm: true})
	if err != nil {
		f.Fatal(err)
	}
	m.history = []Record{{Step: 200, Validation: Losses{Total: 1, Scorer: []float64{0.5}}}}
	for range 2 {
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			f.Fatal(err)
		}
		z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			f.Fatal(err)
		}
		parts := map[string][]byte{}
		for _, e := range z.File {
			r, err := e.Open()
			if err != nil {
				f.Fatal(err)
			}
			if parts[e.Name], err = io.ReadAll(r); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(parts["meta.json"], parts["e3.b.npy"])
		// the second pass has an unfinished training
		m.training = &checkpoint{step: 100, best: 0.5, params: m.params, stats: m.stats, first: m.params, second: make([]float32, len(m.params))}
	}
	f.Fuzz(func(t *testing.T, meta, array []byte) {
		readAndUse(t, build(meta, "e3.b.npy", array))
		readAndUse(t, build(nil, "e3.b.npy", array))
	})
}

// FuzzReadMeta reads arbitrary bytes as the settings of a file without arrays,
// which take most of the time of [FuzzReadParts]. Whatever the settings are,
// arrays are missing.
func FuzzReadMeta(f *testing.F) {
	m, err := Random(2, 1, Settings{Latent: 1, Input: Mean})
	if err != nil {
		f.Fatal(err)
	}
	for _, training := range []*checkpoint{nil, {step: 100, best: 0.5, params: m.params, first: m.params, second: m.params}} {
		var b bytes.Buffer
		if err := m.write(&b, run.Cancelled, training); err != nil {
			f.Fatal(err)
		}
		z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			f.Fatal(err)
		}
		r, err := z.File[0].Open()
		if err != nil {
			f.Fatal(err)
		}
		meta, err := io.ReadAll(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(meta)
	}
	f.Fuzz(func(t *testing.T, meta []byte) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		to, err := w.Create("meta.json")
		if err == nil {
			_, err = to.Write(meta)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if m, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len())); err == nil {
			t.Fatalf("a model of %d parameters out of nothing", len(m.params))
		}
		if !fileBegins(b.Bytes()) {
			t.Error("the beginning is not known again")
		}
	})
}

// An array of arbitrary bytes is refused or holds finite numbers.
func FuzzReadArray(f *testing.F) {
	var b bytes.Buffer
	if err := writeArray(&b, array{"x", 2, 3, []float32{1, -2, 3, 0, 1e-30, 7}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		to, err := w.Create("x.npy")
		if err == nil {
			_, err = to.Write(data)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		a := array{"x", 2, 3, make([]float32, 6)}
		if readArray(z.File[0], a) != nil {
			return
		}
		for _, v := range a.data {
			if !finite(float64(v)) {
				t.Fatalf("%v was taken", v)
			}
		}
	})
}
