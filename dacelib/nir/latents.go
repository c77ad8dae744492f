package nir

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// sampleChunk is the number of solutions of the normalising sample that are
// processed at once: a whole number of blocks whose latents stay in the
// second-level cache while one scorer after another reads them. Each chunk has
// its own random stream.
const sampleChunk = 20 * block

// A Normalisation selects how ranges are found and what is cached between
// calls. It does not change any result. The zero value is the default.
type Normalisation struct {
	// Exact computes every score in single precision. Otherwise, if the
	// processor has AVX-512 VNNI and the sample has 200,000 solutions or more,
	// a pass in products of bytes selects the solutions that can be a scorer's
	// extremes, 1 in 10,000 (CCP) to 1 in 50 (CIMP), and only these are scored
	// in single precision. If the errors are too large to be sure of the result,
	// the scorer goes through the exact pass. The ranges are the same to the
	// last bit and take a quarter of the time.
	Exact bool
	// Whole passes over the whole sample for every scorer. Otherwise, scorers
	// made from embeddings that are almost linear combinations of others whose
	// scores on the sample are known (with [Duals] nearly all that a search
	// tries) are only scored on the solutions that can be their extremes. The
	// ranges are the same to the last bit unless an error of this approximation
	// is over twice all that were seen. None was among 2,430 ranges of scorers
	// that PGPE tries (half CCP, half CIMP: BenchmarkReferences), nor in a
	// construction at the paper's scale, where DACE confirms each mutation's
	// instance over the whole sample.
	Whole bool
	// CacheBytes bounds the memory for the latents of the sample (one byte per
	// number for the pass in bytes, four for the exact pass) and for the scores
	// of up to 32 other scorers, four bytes each. Default 4 GiB; a negative
	// number means none.
	CacheBytes int64
	// CacheDir is a folder for a file with the latents that do not fit into
	// CacheBytes. The file is removed with the model or when the program ends.
	// If CacheDir is empty, these latents are computed again in every pass.
	CacheDir string
	// OnEvent receives the progress of a pass that takes longer than a second,
	// a few times per second: stage "latents" or "normalise", steps in
	// solutions.
	OnEvent func(run.Event)
}

// A sample caches the latents of the normalising sample under the model's
// encoder.
type sample struct {
	mu     sync.Mutex    // guards floats and bytes
	floats *store        // rows of shape.in float32, or nil
	bytes  *byteLatents  // or nil
	grid   chan struct{} // a semaphore: holds one while a goroutine makes bytes

	references     *references // or nil
	referenceBytes int64
}

// A store keeps the data computed for each chunk of the sample, in memory, in a
// file, or not at all.
type store struct {
	row, size int // bytes per row, bytes per chunk
	slots     []slot
	memory    []byte
	file      *os.File
	failed    atomic.Bool // whether writing the file failed
}

// A slot holds the state of one chunk of a store.
type slot struct {
	mu   sync.Mutex // guards done and the chunk's bytes
	done bool
}

// chunks returns the number of chunks of the sample.
func (m *Model) chunks() int { return (m.settings.NormaliseSample + sampleChunk - 1) / sampleChunk }

// chunkLen returns the number of solutions of chunk c.
func (m *Model) chunkLen(c int) int {
	return min(sampleChunk, m.settings.NormaliseSample-c*sampleChunk)
}

// newStore returns a store for rows of row bytes; keep selects whether it keeps
// anything. The caller holds m.sample.mu.
func (m *Model) newStore(row int, keep bool) (*store, error) {
	s := &store{row: row, size: latentRows(m.chunkLen(0)) * row}
	if !keep {
		return s, nil
	}
	n := m.chunks()
	memory, _ := m.keptBytes()
	switch total := int64(n) * int64(s.size); {
	case total <= m.cacheLimit()-memory:
		s.memory = make([]byte, total)
	case m.Normalisation.CacheDir != "":
		f, err := os.CreateTemp(m.Normalisation.CacheDir, "dace-latents-*")
		if err != nil {
			return nil, fmt.Errorf("nir: Normalisation.CacheDir cannot keep the latents: %w", err)
		}
		s.file = f
		// Remove the file's name where the system allows it: the file then
		// disappears with the store or the program, however the program ends.
		if os.Remove(f.Name()) != nil {
			runtime.AddCleanup(s, func(f *os.File) { f.Close(); os.Remove(f.Name()) }, f)
		}
	default:
		return s, nil
	}
	s.slots = make([]slot, n)
	return s, nil
}

// cacheLimit returns the number of bytes that may be kept in memory.
func (m *Model) cacheLimit() int64 {
	if m.Normalisation.CacheBytes == 0 {
		return 4 << 30
	}
	return m.Normalisation.CacheBytes
}

// kept returns the number of bytes that a store keeps in memory and in a file.
func (s *store) kept() (memory, file int64) {
	if s == nil {
		return 0, 0
	}
	if s.file != nil {
		file = int64(len(s.slots)) * int64(s.size)
	}
	return int64(len(s.memory)), file
}

// chunk returns chunk c; it uses buf, of s.size bytes, unless the chunk is in
// memory. fill computes the chunk; it is called once for each chunk that is
// kept.
func (s *store) chunk(c int, buf []byte, fill func(dst []byte)) ([]byte, error) {
	if s.slots == nil {
		fill(buf)
		return buf, nil
	}
	at := &s.slots[c]
	at.mu.Lock()
	defer at.mu.Unlock()
	if s.file == nil {
		buf = s.memory[c*s.size : (c+1)*s.size]
		if !at.done {
			fill(buf)
			at.done = true
		}
		return buf, nil
	}
	from := int64(c) * int64(s.size)
	if at.done {
		if _, err := s.file.ReadAt(buf, from); err != nil {
			return nil, fmt.Errorf("nir: reading the latents back: %w", err)
		}
		return buf, nil
	}
	fill(buf)
	if _, err := s.file.WriteAt(buf, from); err != nil {
		s.failed.Store(true) // the next call makes another store
		return nil, fmt.Errorf("nir: the latents of %d solutions need %d MB of disk, and writing them failed: %w; make room, set another Normalisation.CacheDir, or none",
			len(s.slots)*sampleChunk, (int64(len(s.slots))*int64(s.size))>>20, err)
	}
	at.done = true
	return buf, nil
}

// keptBytes implements LatentBytes; the caller holds m.sample.mu.
func (m *Model) keptBytes() (memory, file int64) {
	memory, file = m.sample.floats.kept()
	if b := m.sample.bytes; b != nil {
		bm, bf := b.store.kept()
		memory, file = memory+bm, file+bf
	}
	return memory + m.sample.referenceBytes, file
}

// LatentBytes returns how many bytes of memory and of a file the latents of the
// normalising sample, and scores that are kept with them, take once a range has
// been computed; 0 if they are not kept. For 10 million solutions and d = 30 the
// latents are 0.6 GB for the pass in bytes and 2.4 GB for the exact pass, the
// scores 1.35 GB.
func (m *Model) LatentBytes() (memory, file int64) {
	m.sample.mu.Lock()
	defer m.sample.mu.Unlock()
	return m.keptBytes()
}

// storeLatents makes the store of the latents that a pass reads.
func (m *Model) storeLatents(ctx context.Context) error {
	if kernel.FastBytes() {
		_, err := m.byteLatents(ctx)
		return err
	}
	_, err := m.floatStore()
	return err
}

// floatStore returns the store of the latents in single precision.
func (m *Model) floatStore() (*store, error) {
	m.sample.mu.Lock()
	defer m.sample.mu.Unlock()
	if m.sample.floats == nil || m.sample.floats.failed.Load() {
		m.sample.floats = nil
		s, err := m.newStore(4*m.shape.in, true)
		if err != nil {
			return nil, err
		}
		m.sample.floats = s
	}
	return m.sample.floats, nil
}

// sampleOf returns chunk c of the normalising sample, or of its part that the
// model stands for.
func (m *Model) sampleOf(c int) problem.Solutions {
	return problem.Random(run.Rand(m.settings.Seed, "nir: normalise", m.from+c), m.chunkLen(c), m.shape.dim)
}

// latentRows returns the number of rows to allocate for n latents: a whole
// number of tiles, which also suffices for latents in bytes.
func latentRows(n int) int { return kernel.RoundRows(n) }

// floats returns b as a slice of float32.
func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// latents writes the latents of x to z, one row every in numbers.
func (e *encoder) latents(z []float32, s *scratch, x problem.Solutions) {
	ldz := kernel.RoundCols(e.in)
	for i := 0; i < x.Len(); i += block {
		n := min(block, x.Len()-i)
		e.encode(s, x.Slice(i, i+n), n)
		for j := range n {
			copy(z[(i+j)*e.in:(i+j+1)*e.in], s.z[j*ldz:])
		}
	}
}

// byteLatents are the latents of the sample as bytes.
type byteLatents struct {
	grid  kernel.Grid // from the smallest to the largest of each column
	store *store
	// The first chunks, also in single precision; scorers in bytes are made
	// from them and tested with them.
	probe      []float32
	probeBytes []uint8
	probes     int // solutions
}

// hold takes a semaphore.
func hold(ctx context.Context, gate chan struct{}) error {
	select {
	case gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// probeChunks is the number of chunks of the probe.
const probeChunks = 10

// byteLatents returns the latents as bytes; the first call computes them.
func (m *Model) byteLatents(ctx context.Context) (*byteLatents, error) {
	m.sample.mu.Lock()
	if m.sample.grid == nil {
		m.sample.grid = make(chan struct{}, 1)
	}
	gate := m.sample.grid
	m.sample.mu.Unlock()
	if err := hold(ctx, gate); err != nil {
		return nil, err
	}
	defer func() { <-gate }()
	if b := m.sample.bytes; b != nil && !b.store.failed.Load() { // only the holder of the semaphore writes bytes
		return b, nil
	}
	in, n := m.shape.in, m.settings.NormaliseSample
	type part struct {
		lo, hi []float32
		sum    []float64
	}
	var mu sync.Mutex // guards parts
	var parts []part
	err := m.eachChunk(ctx, "latents", "", func() func(c int) error {
		p := part{make([]float32, in), make([]float32, in), make([]float64, in)}
		for j := range in {
			p.lo[j], p.hi[j] = math.MaxFloat32, -math.MaxFloat32
		}
		mu.Lock()
		parts = append(parts, p)
		mu.Unlock()
		s, z := newScratch(in), make([]float32, latentRows(sampleChunk)*in)
		return func(c int) error {
			k := m.chunkLen(c)
			m.encoder().latents(z, s, m.sampleOf(c))
			kernel.Extremes(p.lo, p.hi, z, in, k)
			if c < probeChunks { // enough chunks to estimate means
				for i := range k {
					for j, v := range z[i*in : (i+1)*in] {
						p.sum[j] += float64(v)
					}
				}
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	b := &byteLatents{probes: min(n, probeChunks*sampleChunk)}
	lo, hi, mean := make([]float64, in), make([]float64, in), make([]float64, in)
	for j := range in {
		lo[j], hi[j] = math.Inf(1), math.Inf(-1)
		for _, p := range parts {
			lo[j], hi[j] = min(lo[j], float64(p.lo[j])), max(hi[j], float64(p.hi[j]))
			mean[j] += p.sum[j] / float64(b.probes)
		}
	}
	b.grid = kernel.NewGrid(lo, hi, mean)
	b.probe, b.probeBytes = m.probeLatents(b.probes), make([]uint8, latentRows(b.probes)*kernel.ByteStride(in))
	b.round(b.probeBytes, b.probe, b.probes)
	m.sample.mu.Lock()
	defer m.sample.mu.Unlock()
	m.sample.bytes = nil
	if b.store, err = m.newStore(kernel.ByteStride(in), true); err != nil {
		return nil, err
	}
	m.sample.bytes = b
	return b, nil
}

// probeLatents returns the latents of the sample's first n solutions.
func (m *Model) probeLatents(n int) []float32 {
	in := m.shape.in
	z, s := make([]float32, latentRows(n)*in), newScratch(in)
	for c := 0; c*sampleChunk < n; c++ {
		m.encoder().latents(z[c*sampleChunk*in:], s, m.sampleOf(c))
	}
	return z
}

// round writes the bytes of n latents.
func (b *byteLatents) round(dst []uint8, z []float32, n int) {
	in := len(b.grid.Low)
	for i := range n {
		b.grid.Round(dst[i*kernel.ByteStride(in):], z[i*in:(i+1)*in])
	}
}

// eachChunk processes every chunk of the sample, until an error or the end of
// ctx, and reports the progress. Each goroutine calls worker once and then the
// function that it returns for its chunks.
func (m *Model) eachChunk(ctx context.Context, stage, detail string, worker func() func(c int) error) error {
	n := m.chunks()
	onEvent := m.Normalisation.OnEvent
	defer run.Report(&ctx, stage, &onEvent)()
	p := progress{to: onEvent, stage: stage, detail: detail, total: m.settings.NormaliseSample, last: time.Now().Add(time.Second / 2)}
	workers := min(m.workers(), n)
	errs := make([]error, workers)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			f := worker()
			for ctx.Err() == nil && !failed.Load() {
				c := int(next.Add(1)) - 1
				if c >= n {
					break
				}
				if errs[i] = f(c); errs[i] != nil {
					failed.Store(true)
					break
				}
				p.add(m.chunkLen(c))
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// progress sends events, one at a time and at most twice a second.
type progress struct {
	to            func(run.Event)
	stage, detail string
	total         int

	mu   sync.Mutex // guards done and last
	done int
	last time.Time
}

// add reports that n more of the total are done.
func (p *progress) add(n int) {
	if p.to == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if now := time.Now(); now.Sub(p.last) >= time.Second/2 {
		p.last = now
		p.to(run.Event{Stage: p.stage, Step: p.done, Total: p.total, Value: math.NaN(), Best: math.NaN(), Detail: p.detail})
	}
}

// workers returns the number of goroutines to use.
func (m *Model) workers() int {
	if m.settings.Workers > 0 {
		return m.settings.Workers
	}
	return runtime.GOMAXPROCS(0)
}
