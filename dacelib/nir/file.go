package nir

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"

	"dace.local/dacelib/files"
	"dace.local/dacelib/run"
)

// fileVersion is the version of the file format.
//
// Version 2 added "data" and, among the settings, the size of embeddings and
// the start of the hypernetwork; version 1 is still read.
const fileVersion = 2

// fileMeta is the content of meta.json.
type fileMeta struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Settings Settings  `json:"settings"`
	Names    []string  `json:"names"`
	Data     string    `json:"data,omitempty"` // SHA-256 of the training data
	Status   int       `json:"status"`
	History  []Record  `json:"history"`
	Training *fileStep `json:"training,omitempty"`
}

// fileStep is the progress of an unfinished training.
type fileStep struct {
	Step int      `json:"step"`
	Best *float64 `json:"best"` // null before the first validation
}

const fileFormat = "dace nir"

// Save writes the model to a file that [Load] and numpy can read: an npz
// archive. It holds a single-precision array for each matrix of the networks,
// by name (e1 to e3 the encoder, d1 to d3 the decoder, h1 and h2 the
// hypernetwork; a layer computes x W + b), the embeddings (instances x d_e),
// and meta.json with settings, names and losses. In Python:
//
//	f = numpy.load("model.npz"); f["embeddings"]; json.loads(f["meta.json"])
//
// Save includes the state of an unfinished training. It replaces an existing
// file only when the new one is complete.
func (m *Model) Save(path string) error {
	if err := files.Write(path, m.Write); err != nil {
		return fmt.Errorf("nir: saving the model to %s: %w", path, err)
	}
	return nil
}

// Write writes the file that [Model.Save] writes to w.
func (m *Model) Write(w io.Writer) error { return m.write(w, m.status, m.training) }

// write writes the model with the state of a training, which may be nil.
func (m *Model) write(w io.Writer, status run.Status, t *checkpoint) error {
	z := zip.NewWriter(w)
	meta := fileMeta{fileFormat, fileVersion, m.settings, m.names, m.data, int(status), m.history, nil}
	if t != nil {
		meta.Training = &fileStep{Step: t.step}
		if !math.IsInf(t.best, 0) {
			meta.Training.Best = &t.best
		}
	}
	text, err := json.MarshalIndent(meta, "", " ")
	if err != nil {
		return err
	}
	f, err := z.CreateHeader(&zip.FileHeader{Name: "meta.json"})
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	for _, a := range m.arrays(t) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: a.name + ".npy"})
		if err != nil {
			return err
		}
		if err := writeArray(f, a); err != nil {
			return err
		}
	}
	return z.Close()
}

// An array is a row-major matrix of the file.
type array struct {
	name       string
	rows, cols int
	data       []float32
}

// arrays lists the arrays of a file. They share memory with the model and with
// the state of its training.
func (m *Model) arrays(t *checkpoint) []array {
	var out []array
	params := func(prefix string, p []float32) {
		for _, t := range m.shape.tensors {
			out = append(out, array{prefix + t.name, t.rows, t.cols, p[t.off : t.off+t.rows*t.cols]})
		}
	}
	stats := func(name string, s []float32) {
		if len(s) > 0 {
			out = append(out, array{name, len(s) / Hidden, Hidden, s})
		}
	}
	params("", m.params)
	stats("statistics", m.stats)
	if t != nil {
		params("training.", t.params)
		params("training.first.", t.first)
		params("training.second.", t.second)
		stats("training.statistics", t.stats)
	}
	return out
}

// writeArray writes an array in numpy's format, version 1.0.
func writeArray(w io.Writer, a array) error {
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", a.rows, a.cols)
	const before = 10 // magic, version and length
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	b = append(b, header...)
	for _, v := range a.data {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	_, err := w.Write(b)
	return err
}

// Load reads a model that [Model.Save] wrote.
func Load(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("nir: loading a model: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("nir: loading a model: %w", err)
	}
	m, err := Read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("nir: loading %s: %w", path, err)
	}
	return m, nil
}

// Read reads a file that [Model.Save] wrote from r, which holds size bytes.
func Read(r io.ReaderAt, size int64) (*Model, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("this is not the file of a model, or it is cut off: %w", err)
	}
	entries := map[string]*zip.File{}
	for _, f := range z.File {
		entries[f.Name] = f
	}
	var meta fileMeta
	if err := readMeta(entries["meta.json"], &meta); err != nil {
		return nil, err
	}
	s := meta.Settings
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("its settings are damaged: %w", err)
	}
	if len(meta.Names) > maxInstances {
		return nil, fmt.Errorf("it has %d instances; at most %d are possible", len(meta.Names), maxInstances)
	}
	if err := meta.check(); err != nil {
		return nil, fmt.Errorf("meta.json is damaged: %w", err)
	}
	m := &Model{settings: s, names: meta.Names, data: meta.Data, status: run.Status(meta.Status), history: meta.History, shape: newShape(s, len(meta.Names))}
	for _, t := range m.shape.tensors { // checked before their memory is allocated
		f := entries[t.name+".npy"]
		if f == nil {
			return nil, fmt.Errorf("the array %q is missing", t.name)
		}
		if f.UncompressedSize64 < 4*uint64(t.rows*t.cols) {
			return nil, fmt.Errorf("the array %q has %d bytes, too few for the shape (%d, %d)", t.name, f.UncompressedSize64, t.rows, t.cols)
		}
	}
	states := int64(1)
	if meta.Training != nil {
		states = 4 // of the training: the parameters, the best ones and two moments
	}
	if err := files.Need(4 * states * int64(m.shape.size+m.shape.statsSize())); err != nil {
		return nil, err
	}
	m.params, m.stats = make([]float32, m.shape.size), make([]float32, m.shape.statsSize())
	if t := meta.Training; t != nil {
		if entries["training."+m.shape.tensors[0].name+".npy"] == nil {
			return nil, errors.New("the state of its training is missing")
		}
		c := checkpoint{step: t.Step, best: math.Inf(1), stats: make([]float32, len(m.stats))}
		if t.Best != nil {
			c.best = *t.Best
		}
		c.params, c.first, c.second = make([]float32, m.shape.size), make([]float32, m.shape.size), make([]float32, m.shape.size)
		m.training = &c
	}
	for _, a := range m.arrays(m.training) {
		if err := readArray(entries[a.name+".npy"], a); err != nil {
			return nil, fmt.Errorf("the array %q: %w", a.name, err)
		}
	}
	if err := checkVariances("statistics", m.stats); err != nil {
		return nil, err
	}
	if t := m.training; t != nil {
		if err := checkVariances("training.statistics", t.stats); err != nil {
			return nil, err
		}
		for _, v := range t.second {
			if v < 0 {
				return nil, fmt.Errorf("the arrays %q hold %v; they are means of squares, and cannot be negative", "training.second", v)
			}
		}
	}
	return m, nil
}

// check returns an error if parts of the metadata contradict each other.
func (m fileMeta) check() error {
	for _, r := range m.History {
		if k := len(r.Validation.Scorer); k != len(m.Names) {
			return fmt.Errorf("there are %d instances, but losses of %d scorers at step %d", len(m.Names), k, r.Step)
		}
	}
	if s := run.Status(m.Status); s < run.NotRun || s > run.Cancelled {
		return fmt.Errorf("its status is %d", m.Status)
	}
	if t := m.Training; t != nil && (t.Step < 0 || t.Step > m.Settings.Steps) {
		return fmt.Errorf("its training is at step %d of %d", t.Step, m.Settings.Steps)
	}
	return nil
}

// checkVariances returns an error if running statistics have a negative
// variance.
func checkVariances(name string, stats []float32) error {
	for i, v := range stats {
		if i/Hidden%2 == 1 && v < 0 {
			return fmt.Errorf("the array %q: number %d is a variance of %v; it cannot be negative", name, i, v)
		}
	}
	return nil
}

// maxInstances bounds the number of instances in a file.
const maxInstances = 1 << 16

func readMeta(f *zip.File, meta *fileMeta) error {
	if f == nil {
		return errors.New("this is not the file of a model: it has no meta.json")
	}
	const most = 64 << 20
	if f.UncompressedSize64 > most {
		return fmt.Errorf("meta.json has %d bytes; at most %d are possible", f.UncompressedSize64, most)
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("meta.json: %w", err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(files.Reader(r, 4), most))
	if err != nil {
		return fmt.Errorf("meta.json: %w", err)
	}
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Format != fileFormat {
		return fmt.Errorf("this is not the file of a model: meta.json has not the format %q", fileFormat)
	}
	if head.Version < 1 || head.Version > fileVersion {
		return &versionError{head.Version}
	}
	if err := json.Unmarshal(text, meta); err != nil {
		return fmt.Errorf("meta.json: %w", err)
	}
	if s := &meta.Settings; head.Version == 1 || s.EmbeddingSize == 0 {
		s.EmbeddingSize, s.Start, s.HyperBias = EmbeddingSize, He, true
	}
	return nil
}

// A versionError is the error for a file of an unknown format version.
type versionError struct{ version int }

func (e *versionError) Error() string {
	return fmt.Sprintf("it is of version %d of the format, and this program reads versions 1 to %d; save the model again with a program of the same version", e.version, fileVersion)
}

var shapePattern = regexp.MustCompile(`'shape': \((\d+), (\d+)\)`)

// readArray reads an array in numpy's format into a.data. It must have a's
// shape and be single-precision, little-endian and row-major.
func readArray(f *zip.File, a array) error {
	if f == nil {
		return errors.New("it is missing")
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	var start [10]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || string(start[:8]) != "\x93NUMPY\x01\x00" {
		return errors.New("it is not in numpy's format, version 1.0")
	}
	header := make([]byte, int(start[8])|int(start[9])<<8)
	if _, err := io.ReadFull(r, header); err != nil {
		return fmt.Errorf("its header is cut off: %w", err)
	}
	h := string(header)
	if !strings.Contains(h, "'descr': '<f4'") || !strings.Contains(h, "'fortran_order': False") {
		return fmt.Errorf("it is not single-precision, little-endian and row-major: %s", strings.TrimSpace(h))
	}
	shape := shapePattern.FindStringSubmatch(h)
	if shape == nil || shape[1] != strconv.Itoa(a.rows) || shape[2] != strconv.Itoa(a.cols) {
		return fmt.Errorf("its shape should be (%d, %d): %s", a.rows, a.cols, strings.TrimSpace(h))
	}
	buf := make([]byte, 4*4096)
	for i := 0; i < len(a.data); {
		b := buf[:min(len(buf), 4*(len(a.data)-i))]
		if _, err := io.ReadFull(r, b); err != nil {
			return fmt.Errorf("it is cut off: %w", err)
		}
		for ; len(b) > 0; b = b[4:] {
			v := math.Float32frombits(binary.LittleEndian.Uint32(b))
			if v != v || math.IsInf(float64(v), 0) {
				return fmt.Errorf("number %d is %v; all must be finite", i, v)
			}
			a.data[i] = v
			i++
		}
	}
	// Reading to the end checks the checksum.
	if n, err := io.Copy(io.Discard, r); err != nil || n > 0 {
		return fmt.Errorf("it is damaged: %d bytes too many, %v", n, err)
	}
	return nil
}
