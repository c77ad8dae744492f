package nir

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

func TestSaveLoad(t *testing.T) {
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			s.NormaliseSample = 2000
			m := randomModel(t, 12, 3, s)
			m.history = []Record{{Step: 3, Validation: Losses{Total: 0.5, Scorer: []float64{1, 2, 3}}}}
			path := filepath.Join(t.TempDir(), "model.npz")
			for range 2 { // the second time over an existing file
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

// rewrite copies an archive with entries changed; nil drops one.
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
		e, err := w.Create(f.Name)
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
	var good bytes.Buffer
	if err := randomModel(t, 12, 1, Settings{}).Write(&good); err != nil {
		t.Fatal(err)
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
		{"other version", replace("meta.json", `"version": 1`, `"version": 2`), "version 2 of the format, and this program reads version 1"},
		{"other format", replace("meta.json", fileFormat, "nothing"), "not the file of a model"},
		{"settings", replace("meta.json", `"Latent": 12`, `"Latent": -12`), "Latent is -12"},
		{"other shape", replace("meta.json", `"Latent": 12`, `"Latent": 13`), `"e3.W": its shape should be (128, 26)`},
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
		{"too long", func(name string, b []byte) []byte {
			if name == "d2.W.npy" {
				return append(b, 1, 2, 3)
			}
			return b
		}, `3 bytes too many`},
		{"NaN", func(name string, b []byte) []byte {
			if name == "e1.b.npy" {
				copy(b[len(b)-4:], "\xff\xff\xff\xff")
			}
			return b
		}, "number 127 is NaN"},
	} {
		file := rewrite(t, good.Bytes(), tc.change)
		_, err := Read(bytes.NewReader(file), int64(len(file)))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", tc.name, err, tc.want)
		}
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

func FuzzRead(f *testing.F) {
	m, err := Random(2, 1, Settings{})
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes()[:3000])
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Read(bytes.NewReader(data), int64(len(data))); err == nil && m.Dim() < 1 {
			t.Error("a model without a dimension")
		}
	})
}
