package std

import (
	"hash"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/transform"
	"gonum.org/v1/gonum/dsp/window"
	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/graphs/gen"
	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/spectral"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	optfunctions "gonum.org/v1/gonum/optimize/functions"
	"gonum.org/v1/gonum/spatial/kdtree"
	"gonum.org/v1/gonum/spatial/vptree"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/card"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"dace.local/kernel/internal/drawing"
)

// Bytes of what graphs and lists hold, at least.
const (
	nodeBytes = 100 // a node of package simple or multi
	edgeBytes = 100
)

// sizedGonum returns the functions of gonum and its plots that allocate by a
// number, or by a product of the sizes of their arguments.
func sizedGonum() map[string]sized {
	m := map[string]sized{}
	for _, table := range []map[string]sized{sizedMat(), sizedProducts(), sizedGraph(), sizedNumeric(), sizedPlot()} {
		for name, f := range table {
			if rest, method := strings.CutPrefix(name, "(*"); method {
				name = "(*gonum.org/v1/" + rest
			} else {
				name = "gonum.org/v1/" + name
			}
			m[name] = f
		}
	}
	return m
}

// matrix returns the bytes of a matrix of r rows and c columns, 0 if data holds
// them already.
func matrix[E any](data []E, r, c int) float64 {
	if data != nil {
		return 0
	}
	return bytesOf(float64(reflect.TypeFor[E]().Size()), r, c)
}

// size returns the numbers of rows and columns of a matrix, 0 for nil.
func size(a mat.Matrix) (r, c int) {
	if a == nil || reflect.ValueOf(a).Kind() == reflect.Pointer && reflect.ValueOf(a).IsNil() {
		return 0, 0
	}
	return a.Dims()
}

// long returns the length of a vector, 0 for nil.
func long(v mat.Vector) int {
	r, _ := size(v)
	return r
}

func sizedMat() map[string]sized {
	return map[string]sized{
		"gonum/mat.NewDense":        func3(mat.NewDense, func(r, c int, data []float64) float64 { return matrix(data, r, c) }),
		"gonum/mat.NewCDense":       func3(mat.NewCDense, func(r, c int, data []complex128) float64 { return matrix(data, r, c) }),
		"gonum/mat.NewVecDense":     func2(mat.NewVecDense, func(n int, data []float64) float64 { return matrix(data, n, 1) }),
		"gonum/mat.NewSymDense":     func2(mat.NewSymDense, func(n int, data []float64) float64 { return matrix(data, n, n) }),
		"gonum/mat.NewTriDense":     func3(mat.NewTriDense, func(n int, _ mat.TriKind, data []float64) float64 { return matrix(data, n, n) }),
		"gonum/mat.NewDiagDense":    func2(mat.NewDiagDense, func(n int, data []float64) float64 { return matrix(data, n, 1) }),
		"gonum/mat.NewBandDense":    func5(mat.NewBandDense, func(r, c, kl, ku int, data []float64) float64 { return matrix(data, min(r, c+kl), kl+ku+1) }),
		"gonum/mat.NewDiagonalRect": func3(mat.NewDiagonalRect, func(r, c int, data []float64) float64 { return matrix(data, min(r, c), 1) }),
		"gonum/mat.NewSymBandDense": func3(mat.NewSymBandDense, func(n, k int, data []float64) float64 { return matrix(data, n, k+1) }),
		"gonum/mat.NewTriBandDense": func4(mat.NewTriBandDense, func(n, k int, _ mat.TriKind, data []float64) float64 { return matrix(data, n, k+1) }),
		"gonum/mat.NewTridiag":      func4(mat.NewTridiag, func(n int, _, d, _ []float64) float64 { return matrix(d, n, 3) }),

		"(*gonum/mat.Dense).ReuseAs":               do3((*mat.Dense).ReuseAs, func(_ *mat.Dense, r, c int) float64 { return bytesOf(8, r, c) }),
		"(*gonum/mat.CDense).ReuseAs":              do3((*mat.CDense).ReuseAs, func(_ *mat.CDense, r, c int) float64 { return bytesOf(16, r, c) }),
		"(*gonum/mat.VecDense).ReuseAsVec":         do2((*mat.VecDense).ReuseAsVec, func(_ *mat.VecDense, n int) float64 { return bytesOf(8, n) }),
		"(*gonum/mat.SymDense).ReuseAsSym":         do2((*mat.SymDense).ReuseAsSym, func(_ *mat.SymDense, n int) float64 { return bytesOf(8, n, n) }),
		"(*gonum/mat.TriDense).ReuseAsTri":         do3((*mat.TriDense).ReuseAsTri, func(_ *mat.TriDense, n int, _ mat.TriKind) float64 { return bytesOf(8, n, n) }),
		"(*gonum/mat.TriBandDense).ReuseAsTriBand": do4((*mat.TriBandDense).ReuseAsTriBand, func(_ *mat.TriBandDense, n, k int, _ mat.TriKind) float64 { return bytesOf(8, n, k+1) }),
		"(*gonum/mat.Dense).Grow": func3((*mat.Dense).Grow, func(d *mat.Dense, r, c int) float64 {
			rows, cols := d.Dims()
			return bytesOf(8, rows+max(r, 0), cols+max(c, 0))
		}),
		"(*gonum/mat.CDense).Grow": func3((*mat.CDense).Grow, func(d *mat.CDense, r, c int) float64 {
			rows, cols := d.Dims()
			return bytesOf(16, rows+max(r, 0), cols+max(c, 0))
		}),
		"(*gonum/mat.SymDense).GrowSym": func2((*mat.SymDense).GrowSym, func(s *mat.SymDense, n int) float64 {
			n = s.SymmetricDim() + max(n, 0)
			return bytesOf(8, n, n)
		}),
		"(*gonum/mat.Dense).Permutation": do3((*mat.Dense).Permutation, func(_ *mat.Dense, n int, _ []int) float64 { return bytesOf(8, n, n) }),
	}
}

// sizedProducts returns the functions of matrices that allocate by the sizes of
// others.
func sizedProducts() map[string]sized {
	return map[string]sized{
		"(*gonum/mat.Dense).Outer": do4((*mat.Dense).Outer, func(_ *mat.Dense, _ float64, x, y mat.Vector) float64 { return bytesOf(8, long(x), long(y)) }),
		"(*gonum/mat.Dense).Mul": do3((*mat.Dense).Mul, func(_ *mat.Dense, a, b mat.Matrix) float64 {
			r, _ := size(a)
			_, c := size(b)
			return bytesOf(8, r, c)
		}),
		"(*gonum/mat.Dense).Kronecker": do3((*mat.Dense).Kronecker, func(_ *mat.Dense, a, b mat.Matrix) float64 {
			ar, ac := size(a)
			br, bc := size(b)
			return bytesOf(8, ar, ac, br, bc)
		}),
		"(*gonum/mat.Dense).Stack": do3((*mat.Dense).Stack, func(_ *mat.Dense, a, b mat.Matrix) float64 {
			ar, ac := size(a)
			br, _ := size(b)
			return bytesOf(8, ar+br, ac)
		}),
		"(*gonum/mat.Dense).Augment": do3((*mat.Dense).Augment, func(_ *mat.Dense, a, b mat.Matrix) float64 {
			ar, ac := size(a)
			_, bc := size(b)
			return bytesOf(8, ar, ac+bc)
		}),
		"(*gonum/mat.SymDense).SymOuterK": do3((*mat.SymDense).SymOuterK, func(_ *mat.SymDense, _ float64, x mat.Matrix) float64 {
			r, _ := size(x)
			return bytesOf(8, r, r)
		}),
		// The factors Q are square: that of QR is made when it is asked for.
		"(*gonum/mat.QR).QTo": do2((*mat.QR).QTo, func(q *mat.QR, _ *mat.Dense) float64 {
			r, _ := q.Dims()
			return bytesOf(8, r, r)
		}),
		"(*gonum/mat.LQ).Factorize": do2((*mat.LQ).Factorize, func(_ *mat.LQ, a mat.Matrix) float64 {
			_, c := size(a)
			return bytesOf(8, c, c)
		}),
		"(*gonum/mat.SVD).Factorize": func3((*mat.SVD).Factorize, func(_ *mat.SVD, a mat.Matrix, kind mat.SVDKind) float64 {
			r, c := size(a)
			n := bytesOf(8, r, c)
			if kind&mat.SVDFullU != 0 {
				n += bytesOf(8, r, r)
			}
			if kind&mat.SVDFullV != 0 {
				n += bytesOf(8, c, c)
			}
			return n
		}),
	}
}

// nodes returns the number of nodes of a graph, 0 for nil.
func nodes(g interface{ Nodes() graph.Nodes }) int {
	if g == nil {
		return 0
	}
	return max(0, g.Nodes().Len())
}

// pairs returns the bytes of a matrix over all pairs of a graph's nodes.
func pairs[G interface{ Nodes() graph.Nodes }](each float64) func(G) float64 {
	return func(g G) float64 { n := nodes(g); return bytesOf(each, n, n) }
}

// listed returns the length of a list of identifiers, 0 for nil.
func listed(ids gen.IDer) int {
	if ids == nil {
		return 0
	}
	return ids.Len()
}

func sizedGraph() map[string]sized {
	ofNodes := func(n int, edges float64) float64 { return bytesOf(nodeBytes, n) + edgeBytes*edges }
	return map[string]sized{
		"gonum/graph/simple.NewDirectedMatrix":   func4(simple.NewDirectedMatrix, func(n int, _, _, _ float64) float64 { return bytesOf(8, n, n) }),
		"gonum/graph/simple.NewUndirectedMatrix": func4(simple.NewUndirectedMatrix, func(n int, _, _, _ float64) float64 { return bytesOf(8, n, n) }),
		"gonum/graph/simple.NewDirectedMatrixFrom": func4(simple.NewDirectedMatrixFrom, func(l []graph.Node, _, _, _ float64) float64 {
			return bytesOf(8, len(l), len(l))
		}),
		"gonum/graph/simple.NewUndirectedMatrixFrom": func4(simple.NewUndirectedMatrixFrom, func(l []graph.Node, _, _, _ float64) float64 {
			return bytesOf(8, len(l), len(l))
		}),
		"gonum/graph/graphs/gen.Gnp": func4(gen.Gnp, func(_ graph.Builder, n int, p float64, _ rand.Source) float64 {
			return ofNodes(n, bytesOf(min(max(p, 0), 1), n, n)/2)
		}),
		"gonum/graph/graphs/gen.Gnm": func4(gen.Gnm, func(_ gen.GraphBuilder, n, m int, _ rand.Source) float64 { return ofNodes(n, float64(m)) }),
		"gonum/graph/graphs/gen.SmallWorldsBB": func5(gen.SmallWorldsBB, func(_ gen.GraphBuilder, n, d int, _ float64, _ rand.Source) float64 {
			return ofNodes(n, bytesOf(1, n, d))
		}),
		"gonum/graph/graphs/gen.PowerLaw": func4(gen.PowerLaw, func(_ graph.MultigraphBuilder, n, d int, _ rand.Source) float64 { return ofNodes(n, bytesOf(1, n, d)) }),
		"gonum/graph/graphs/gen.BipartitePowerLaw": triple4(gen.BipartitePowerLaw, func(_ graph.MultigraphBuilder, n, d int, _ rand.Source) float64 {
			return 2 * ofNodes(n, bytesOf(1, n, d))
		}),
		"gonum/graph/graphs/gen.PreferentialAttachment": func4(gen.PreferentialAttachment, func(_ graph.UndirectedBuilder, n, m int, _ rand.Source) float64 {
			return ofNodes(n, bytesOf(1, n, m))
		}),
		"gonum/graph/graphs/gen.TunableClusteringScaleFree": func5(gen.TunableClusteringScaleFree, func(_ graph.UndirectedBuilder, n, m int, _ float64, _ rand.Source) float64 {
			return ofNodes(n, bytesOf(1, n, m))
		}),
		"gonum/graph/graphs/gen.Duplication": func6(gen.Duplication, func(_ gen.UndirectedMutator, n int, _, _, _ float64, _ rand.Source) float64 { return ofNodes(n, 0) }),
		"gonum/graph/graphs/gen.NavigableSmallWorld": func6(gen.NavigableSmallWorld, func(_ gen.GraphBuilder, dims []int, _, q int, _ float64, _ rand.Source) float64 {
			return bytesOf(nodeBytes, dims...) * float64(1+max(q, 0))
		}),
		"gonum/graph/graphs/gen.Star": do3(gen.Star, func(_ gen.NodeIDGraphBuilder, _ int64, l gen.IDer) float64 {
			return ofNodes(listed(l), float64(listed(l)))
		}),
		"gonum/graph/graphs/gen.Wheel": do3(gen.Wheel, func(_ gen.NodeIDGraphBuilder, _ int64, l gen.IDer) float64 {
			return ofNodes(listed(l), float64(listed(l)))
		}),
		"gonum/graph/graphs/gen.Tree": do3(gen.Tree, func(_ gen.NodeIDGraphBuilder, _ int, l gen.IDer) float64 {
			return ofNodes(listed(l), float64(listed(l)))
		}),
		"gonum/graph/graphs/gen.Path":  do2(gen.Path, func(_ gen.NodeIDGraphBuilder, l gen.IDer) float64 { return ofNodes(listed(l), float64(listed(l))) }),
		"gonum/graph/graphs/gen.Cycle": do2(gen.Cycle, func(_ gen.NodeIDGraphBuilder, l gen.IDer) float64 { return ofNodes(listed(l), float64(listed(l))) }),
		"gonum/graph/graphs/gen.Complete": do2(gen.Complete, func(_ gen.NodeIDGraphBuilder, l gen.IDer) float64 {
			return ofNodes(listed(l), bytesOf(.5, listed(l), listed(l)))
		}),

		"gonum/graph/path.FloydWarshall":              pair1(path.FloydWarshall, pairs[graph.Graph](32)),
		"gonum/graph/path.DijkstraAllPaths":           func1(path.DijkstraAllPaths, pairs[graph.Graph](32)),
		"gonum/graph/path.JohnsonAllPaths":            pair1(path.JohnsonAllPaths, pairs[graph.Graph](32)),
		"gonum/graph/network.PageRank":                func3(network.PageRank, func(g graph.Directed, _, _ float64) float64 { return pairs[graph.Directed](8)(g) }),
		"gonum/graph/spectral.NewLaplacian":           func1(spectral.NewLaplacian, pairs[graph.Undirected](8)),
		"gonum/graph/spectral.NewSymNormLaplacian":    func1(spectral.NewSymNormLaplacian, pairs[graph.Undirected](8)),
		"gonum/graph/spectral.NewRandomWalkLaplacian": func2(spectral.NewRandomWalkLaplacian, func(g graph.Graph, _ float64) float64 { return pairs[graph.Graph](8)(g) }),
	}
}

func sizedNumeric() map[string]sized {
	const goroutine = 8 << 10 // bytes
	return map[string]sized{
		"gonum/dsp/fourier.NewFFT":                  func1(fourier.NewFFT, func(n int) float64 { return bytesOf(24, n) }),
		"gonum/dsp/fourier.NewCmplxFFT":             func1(fourier.NewCmplxFFT, func(n int) float64 { return bytesOf(48, n) }),
		"gonum/dsp/fourier.NewDCT":                  func1(fourier.NewDCT, func(n int) float64 { return bytesOf(24, n) }),
		"gonum/dsp/fourier.NewDST":                  func1(fourier.NewDST, func(n int) float64 { return bytesOf(20, n) }),
		"gonum/dsp/fourier.NewQuarterWaveFFT":       func1(fourier.NewQuarterWaveFFT, func(n int) float64 { return bytesOf(24, n) }),
		"(*gonum/dsp/fourier.FFT).Reset":            do2((*fourier.FFT).Reset, func(_ *fourier.FFT, n int) float64 { return bytesOf(24, n) }),
		"(*gonum/dsp/fourier.CmplxFFT).Reset":       do2((*fourier.CmplxFFT).Reset, func(_ *fourier.CmplxFFT, n int) float64 { return bytesOf(48, n) }),
		"(*gonum/dsp/fourier.DCT).Reset":            do2((*fourier.DCT).Reset, func(_ *fourier.DCT, n int) float64 { return bytesOf(24, n) }),
		"(*gonum/dsp/fourier.DST).Reset":            do2((*fourier.DST).Reset, func(_ *fourier.DST, n int) float64 { return bytesOf(20, n) }),
		"(*gonum/dsp/fourier.QuarterWaveFFT).Reset": do2((*fourier.QuarterWaveFFT).Reset, func(_ *fourier.QuarterWaveFFT, n int) float64 { return bytesOf(24, n) }),
		"gonum/dsp/transform.NewHilbert":            func1(transform.NewHilbert, func(n int) float64 { return bytesOf(64, n) }),
		"gonum/dsp/window.NewValues":                func2(window.NewValues, func(_ func([]float64) []float64, n int) float64 { return bytesOf(8, n) }),

		"gonum/integrate/quad.Fixed": func6(quad.Fixed, func(f func(float64) float64, _, _ float64, n int, _ quad.FixedLocationer, workers int) float64 {
			present(f != nil)
			if workers <= 0 {
				return 0
			}
			return bytesOf(16, n) + bytesOf(goroutine, min(n, workers))
		}),
		"gonum/optimize.Minimize": pair4(optimize.Minimize, func(_ optimize.Problem, x []float64, s *optimize.Settings, method optimize.Method) float64 {
			d, n := len(x), 0.0
			if s != nil {
				n = bytesOf(goroutine, s.Concurrent)
			}
			switch m := method.(type) {
			case *optimize.CmaEsChol:
				return n + bytesOf(8, m.Population, d) + bytesOf(8, d, d)
			case *optimize.LBFGS:
				return n + bytesOf(16, m.Store, d)
			case *optimize.BFGS, *optimize.Newton:
				return n + bytesOf(8, d, d)
			}
			return n
		}),
		"gonum/optimize/functions.NewMinimalSurface": func2(optfunctions.NewMinimalSurface, func(x, y int) float64 { return bytesOf(8, x, y) }),

		"gonum/spatial/kdtree.NewNKeeper": func1(kdtree.NewNKeeper, func(n int) float64 { return bytesOf(24, n) }),
		"gonum/spatial/vptree.NewNKeeper": func1(vptree.NewNKeeper, func(n int) float64 { return bytesOf(24, n) }),

		"gonum/stat.CovarianceMatrix":      do3(stat.CovarianceMatrix, func(_ *mat.SymDense, x mat.Matrix, _ []float64) float64 { return columnPairs(x) }),
		"gonum/stat.CorrelationMatrix":     do3(stat.CorrelationMatrix, func(_ *mat.SymDense, x mat.Matrix, _ []float64) float64 { return columnPairs(x) }),
		"gonum/stat/card.NewHyperLogLog32": pair2(card.NewHyperLogLog32, func(n int, _ hash.Hash32) float64 { return math.Exp2(float64(n)) }),
		"gonum/stat/card.NewHyperLogLog64": pair2(card.NewHyperLogLog64, func(n int, _ hash.Hash64) float64 { return math.Exp2(float64(n)) }),
		"gonum/stat/distmv.NewUnitUniform": func2(distmv.NewUnitUniform, func(n int, _ rand.Source) float64 { return bytesOf(16, n) }),

		"gonum/stat/combin.Combinations":            func2(combin.Combinations, func(n, k int) float64 { return ways(n, k, true) * float64(24+8*k) }),
		"gonum/stat/combin.Permutations":            func2(combin.Permutations, func(n, k int) float64 { return ways(n, k, false) * float64(24+8*k) }),
		"gonum/stat/combin.Cartesian":               func1(combin.Cartesian, func(lens []int) float64 { return bytesOf(float64(24+8*len(lens)), lens...) }),
		"gonum/stat/combin.NewCombinationGenerator": func2(combin.NewCombinationGenerator, func(_, k int) float64 { return bytesOf(8, k) }),
		"gonum/stat/combin.NewPermutationGenerator": func2(combin.NewPermutationGenerator, func(n, k int) float64 { return bytesOf(8, n) + bytesOf(8, k) }),
		"gonum/stat/combin.IndexToCombination":      func4(combin.IndexToCombination, func(dst []int, _, _, k int) float64 { return matrix(dst, k, 1) }),
		"gonum/stat/combin.IndexToPermutation":      func4(combin.IndexToPermutation, func(_ []int, _, n, k int) float64 { return bytesOf(8, n) + bytesOf(8, k) }),
		"gonum/stat/combin.PermutationIndex":        func3(combin.PermutationIndex, func(_ []int, n, _ int) float64 { return bytesOf(8, n) }),
	}
}

// columnPairs returns the bytes of a matrix over all pairs of a matrix's columns.
func columnPairs(x mat.Matrix) float64 {
	_, c := size(x)
	return bytesOf(8, c, c)
}

// ways returns the number of ways to choose k of n, without or with their order.
func ways(n, k int, unordered bool) float64 {
	if n < 0 || k < 0 || k > n {
		return 0
	}
	lg := func(x int) float64 { y, _ := math.Lgamma(float64(x) + 1); return y }
	log := lg(n) - lg(n-k)
	if unordered {
		log -= lg(k)
	}
	return math.Exp(log)
}

func sizedPlot() map[string]sized {
	const color = 8 + 16 // bytes
	return map[string]sized{
		"plot/palette.Heat":         func2(palette.Heat, func(n int, _ float64) float64 { return bytesOf(color, n) }),
		"plot/palette.Radial":       func4(palette.Radial, func(n int, _, _ palette.Hue, _ float64) float64 { return bytesOf(color, n) }),
		"plot/palette.Rainbow":      func6(palette.Rainbow, func(n int, _, _ palette.Hue, _, _, _ float64) float64 { return bytesOf(color, n) }),
		"plot/plotter.NewHist":      pair2(plotter.NewHist, func(_ plotter.Valuer, n int) float64 { return bytesOf(24, n) }),
		"plot/plotter.NewHistogram": pair2(plotter.NewHistogram, func(_ plotter.XYer, n int) float64 { return bytesOf(24, n) }),

		"plot/vg/vgimg.New":               func2(vgimg.New, func(w, h vg.Length) float64 { return dots(w, h, vgimg.DefaultDPI) }),
		"plot/vg/vgimg.NewWith":           variadic1(vgimg.NewWith, canvasSize),
		"plot/vg/draw.NewFormattedCanvas": pair3(draw.NewFormattedCanvas, func(w, h vg.Length, format string) float64 { return canvas(w, h, format) }),
		"(*plot.Plot).WriterTo":           pair4(drawing.WriterTo, func(_ *plot.Plot, w, h vg.Length, format string) float64 { return canvas(w, h, format) }),
		"(*plot.Plot).Save": func4(drawing.Save, func(_ *plot.Plot, w, h vg.Length, file string) float64 {
			return canvas(w, h, file[strings.LastIndexByte(file, '.')+1:])
		}),
	}
}

// dots returns the bytes of an image of a width and height.
func dots(w, h vg.Length, dpi float64) float64 {
	if w <= 0 || h <= 0 {
		return 0
	}
	return 4 * w.Dots(dpi) * h.Dots(dpi)
}

// canvas returns the bytes of a canvas of a format: those of points, not those
// of lines.
func canvas(w, h vg.Length, format string) float64 {
	switch strings.ToLower(format) {
	case "png", "jpg", "jpeg", "tif", "tiff":
		return dots(w, h, vgimg.DefaultDPI)
	}
	return 0
}

// canvasSize returns the bytes of the image that vgimg.NewWith makes for its
// options.
func canvasSize[O ~func(*vgimg.Canvas) uint32](options []O) float64 {
	c := new(vgimg.Canvas)
	for _, o := range options {
		o(c)
	}
	if c.Image() != nil {
		return 0 // the cell's own image
	}
	w, h := c.Size()
	dpi := c.DPI()
	if w == 0 {
		w, h = vgimg.DefaultWidth, vgimg.DefaultHeight
	}
	if dpi == 0 {
		dpi = vgimg.DefaultDPI
	}
	return dots(w, h, dpi)
}

// shaped returns the bytes of a tensor of a shape.
func shaped(each float64, shape []int) float64 { return bytesOf(each, shape...) }

// elementSize returns the size of a tensor's elements.
func elementSize(dt tensor.Dtype) float64 {
	if dt.Type == nil {
		return 0
	}
	return float64(dt.Size())
}

// tensorSize returns the bytes that a tensor made with the given options
// allocates.
func tensorSize(d *tensor.Dense, options []tensor.ConsOpt) (n float64) {
	defer func() {
		if recover() != nil {
			n = 0 // the function itself panics
		}
	}()
	for _, o := range options {
		o(d)
	}
	if d.MemSize() > 0 {
		return 0
	}
	return shaped(elementSize(d.Dtype()), d.Shape())
}

// repeated returns the bytes of a tensor that is repeated along an axis.
func repeated(t tensor.Tensor, times []int) float64 {
	if t == nil {
		return 0
	}
	n := 0.0
	for _, k := range times {
		n += float64(max(k, 0))
	}
	return n * float64(t.Shape().TotalSize()) * elementSize(t.Dtype()) / float64(max(len(times), 1))
}

// sizedGorgonia returns the functions of gorgonia and its tensors that allocate
// by a number or by a shape.
func sizedGorgonia() map[string]sized {
	m := map[string]sized{
		"gorgonia.org/tensor.New": variadic1(tensor.New, func(o []tensor.ConsOpt) float64 { return tensorSize(new(tensor.Dense), o) }),
		"gorgonia.org/tensor.NewDense": variadic3(tensor.NewDense, func(dt tensor.Dtype, shape tensor.Shape, o []tensor.ConsOpt) float64 {
			return tensorSize(new(tensor.Dense), append([]tensor.ConsOpt{tensor.Of(dt), tensor.WithShape(shape...)}, o...))
		}),
		"gorgonia.org/tensor.Ones":   variadic2(tensor.Ones, func(dt tensor.Dtype, shape []int) float64 { return shaped(elementSize(dt), shape) }),
		"gorgonia.org/tensor.I":      func4(tensor.I, func(dt tensor.Dtype, r, c, _ int) float64 { return bytesOf(elementSize(dt), r, c) }),
		"gorgonia.org/tensor.Random": func2(tensor.Random, func(dt tensor.Dtype, n int) float64 { return bytesOf(elementSize(dt), n) }),
		"gorgonia.org/tensor.Range": func3(tensor.Range, func(dt tensor.Dtype, from, to int) float64 {
			return elementSize(dt) * math.Abs(float64(to)-float64(from))
		}),
		"gorgonia.org/tensor.BorrowInts":      func1(tensor.BorrowInts, func(n int) float64 { return bytesOf(8, n) }),
		"gorgonia.org/tensor.BorrowBools":     func1(tensor.BorrowBools, func(n int) float64 { return bytesOf(1, n) }),
		"gorgonia.org/tensor.NewBitMap":       func1(tensor.NewBitMap, func(n int) float64 { return bytesOf(.125, n) }),
		"gorgonia.org/tensor.Repeat":          variadicPair3(tensor.Repeat, func(t tensor.Tensor, _ int, n []int) float64 { return repeated(t, n) }),
		"(*gorgonia.org/tensor.Dense).Repeat": variadicPair3((*tensor.Dense).Repeat, func(t *tensor.Dense, _ int, n []int) float64 { return repeated(t, n) }),
		"(*gorgonia.org/tensor.CS).Dense":     func1((*tensor.CS).Dense, func(t *tensor.CS) float64 { return shaped(elementSize(t.Dtype()), t.Shape()) }),
		"gorgonia.org/tensor.Outer": variadicPair3(tensor.Outer, func(a, b tensor.Tensor, _ []tensor.FuncOpt) float64 {
			if a == nil || b == nil {
				return 0
			}
			return bytesOf(elementSize(a.Dtype()), a.Shape().TotalSize(), b.Shape().TotalSize())
		}),

		// A node's value is made as the graph runs, of four bytes an element at
		// least.
		"gorgonia.org/gorgonia.WithShape":    variadic1(gorgonia.WithShape, func(shape []int) float64 { return shaped(4, shape) }),
		"gorgonia.org/gorgonia.OneHotVector": variadic4(gorgonia.OneHotVector, func(_, n int, dt tensor.Dtype, _ []gorgonia.NodeConsOpt) float64 { return bytesOf(elementSize(dt), n) }),
		"gorgonia.org/gorgonia.UniformRandomNode": variadic5(gorgonia.UniformRandomNode, func(_ *gorgonia.ExprGraph, dt tensor.Dtype, _, _ float64, shape []int) float64 {
			return shaped(elementSize(dt), shape)
		}),
		"gorgonia.org/gorgonia.GaussianRandomNode": variadic5(gorgonia.GaussianRandomNode, func(_ *gorgonia.ExprGraph, dt tensor.Dtype, _, _ float64, shape []int) float64 {
			return shaped(elementSize(dt), shape)
		}),
		"gorgonia.org/gorgonia.BinomialRandomNode": variadic5(gorgonia.BinomialRandomNode, func(_ *gorgonia.ExprGraph, dt tensor.Dtype, _, _ float64, shape []int) float64 {
			return shaped(elementSize(dt), shape)
		}),
		"gorgonia.org/gorgonia.Upsample2D": pair2(gorgonia.Upsample2D, func(x *gorgonia.Node, k int) float64 {
			if x == nil || k < 0 {
				return 0
			}
			return float64(x.Shape().TotalSize()) * 4 * float64(k) * float64(k)
		}),
	}
	put := func(name string, f sized) { m["gorgonia.org/gorgonia."+name] = f }
	two := func(name string, f64 func(float64, float64, ...int) []float64, f32 func(float64, float64, ...int) []float32) {
		put(name+"64", variadic3(f64, func(_, _ float64, shape []int) float64 { return shaped(8, shape) }))
		put(name+"32", variadic3(f32, func(_, _ float64, shape []int) float64 { return shaped(4, shape) }))
	}
	two("Uniform", gorgonia.Uniform64, gorgonia.Uniform32)
	two("Gaussian", gorgonia.Gaussian64, gorgonia.Gaussian32)
	two("Binomial", gorgonia.Binomial64, gorgonia.Binomial32)
	for name, f := range map[string]func(float64, ...int) []float64{
		"GlorotEtAlN64": gorgonia.GlorotEtAlN64, "GlorotEtAlU64": gorgonia.GlorotEtAlU64, "HeEtAlN64": gorgonia.HeEtAlN64, "HeEtAlU64": gorgonia.HeEtAlU64,
	} {
		put(name, variadic2(f, func(_ float64, shape []int) float64 { return shaped(8, shape) }))
	}
	for name, f := range map[string]func(float64, ...int) []float32{"GlorotEtAlN32": gorgonia.GlorotEtAlN32, "GlorotEtAlU32": gorgonia.GlorotEtAlU32} {
		put(name, variadic2(f, func(_ float64, shape []int) float64 { return shaped(4, shape) }))
	}
	return m
}
