package figure

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

func path(xy ...float64) []plotter.XY {
	out := make([]plotter.XY, len(xy)/2)
	for i := range out {
		out[i] = plotter.XY{X: xy[2*i], Y: xy[2*i+1]}
	}
	return out
}

// Contrast draws what CEPS and DACE share and where they differ (the paper's
// Fig. 1): both co-evolve a portfolio and instances; CEPS needs a generator for
// each class, DACE values of solutions. The three diagrams of the paper are made for
// a column's width: about as high as wide.
func Contrast() *plot.Plot {
	both := Box{Text: "the same in both: co-evolution", X: 0, Y: 138, W: 240, H: 74, Frame: true}
	configurations := Box{Text: "portfolio:\nconfigurations\nof a solver", X: 10, Y: 146, W: 74, H: 48}
	instances := Box{Text: "population\nof instances", X: 156, Y: 146, W: 74, H: 48}
	boxes := []Box{both, configurations, instances}
	arrows := []Arrow{
		{"what it finds hard", path(84, 182, 156, 182)},
		{"to be good at", path(156, 158, 84, 158)},
	}
	for i, panel := range []struct{ name, stands, makes, needs string }{
		{"CEPS", "authentic instances", "the class's generator,\nmade by an expert", "knowledge of the class"},
		{"DACE", "networks that learned\ninstances (NIRs)", "a move of an embedding,\nfor any class", "values of solutions"},
	} {
		x, group := 126*float64(i), 1+i
		frame := Box{Text: panel.name, X: x, Y: 0, W: 114, H: 124, Frame: true}
		needs := Box{Text: panel.needs, X: x + 9, Y: 7, W: 96, H: 18, Group: group}
		makes := Box{Text: panel.makes, X: x + 9, Y: 39, W: 96, H: 25, Group: group}
		stands := Box{Text: panel.stands, X: x + 9, Y: 82, W: 96, H: 25, Group: group}
		boxes = append(boxes, frame, needs, makes, stands)
		arrows = append(arrows, Join("", needs, makes), Join("makes", makes, stands),
			Arrow{"", path(x+57+40*float64(1-2*i), 124, x+57+40*float64(1-2*i), 138)})
	}
	return Diagram("", []string{"of both", "CEPS", "DACE"}, boxes, arrows)
}

// NIROverview draws a neural instance representation (the paper's Fig. 2): the
// encoder, the decoder and the hypernetwork are those of the class, the embedding
// is the instance's; the hypernetwork makes the scorer's weights of it.
func NIROverview() *plot.Plot {
	const class, instance, data = 0, 1, 6
	x := Box{Text: "x", X: 0, Y: 110, W: 20, H: 24, Group: data}
	encoder := Box{Text: "encoder", X: 34, Y: 110, W: 42, H: 24, Group: class}
	latent := Box{Text: "μ, σ", X: 90, Y: 110, W: 28, H: 24, Group: data}
	z := Box{Text: "z", X: 144, Y: 110, W: 18, H: 24, Group: data}
	decoder := Box{Text: "decoder", X: 176, Y: 110, W: 42, H: 24, Group: class}
	again := Box{Text: "x'", X: 232, Y: 110, W: 20, H: 24, Group: data}
	scorer := Box{Text: "scorer", X: 78, Y: 62, W: 52, H: 24, Group: instance}
	score := Box{Text: "y'", X: 232, Y: 62, W: 20, H: 24, Group: data}
	hyper := Box{Text: "hypernetwork", X: 72, Y: 6, W: 64, H: 24, Group: class}
	embedding := Box{Text: "embedding", X: 0, Y: 6, W: 50, H: 24, Group: instance}
	return Diagram("", []string{"shared by the class", "of one instance"},
		[]Box{x, encoder, latent, z, decoder, again, scorer, score, hyper, embedding},
		[]Arrow{
			Join("", x, encoder), Join("", encoder, latent), Join("drawn", latent, z), Join("", z, decoder), Join("", decoder, again),
			Join("side by side", latent, scorer), Join("approximates the value of x", scorer, score),
			Join("", embedding, hyper), Join("weights of the scorer", hyper, scorer),
		})
}

// DACEOverview draws how DACE makes a portfolio (the paper's Fig. 3 and
// Algorithm 2).
func DACEOverview() *plot.Plot {
	const configurations, instances, end = 0, 1, 2
	left := func(text string, y, h float64) Box {
		return Box{Text: text, X: 12, Y: y, W: 92, H: h, Group: configurations}
	}
	right := func(text string, y, h float64) Box {
		return Box{Text: text, X: 140, Y: y, W: 92, H: h, Group: instances}
	}
	random, greedy := left("random configurations", 214, 18), left("greedy: K of them", 184, 18)
	training, nirs := right("training instances", 214, 18), right("an NIR for each", 184, 18)
	p, m := left("portfolio P", 136, 20), right("instances M", 136, 20)
	mine, best := left("without a member, SMAC\nfinds one (n times)", 92, 25), left("the best K of all", 58, 18)
	mutate, replace := right("PGPE finds a harder\nembedding", 92, 25), right("it replaces an easier one", 58, 18)
	last := Box{Text: "portfolio", X: 12, Y: 6, W: 92, H: 18, Group: end}
	return Diagram("", []string{"configurations", "instances", "result"},
		[]Box{
			{Text: "initialization", X: 0, Y: 178, W: 244, H: 66, Frame: true},
			{Text: "co-evolution, MaxRound rounds", X: 0, Y: 46, W: 244, H: 122, Frame: true},
			random, greedy, training, nirs, p, m, mine, best, mutate, replace, last,
		},
		[]Arrow{
			Join("", random, greedy), Join("", training, nirs), Join("tested on", nirs, greedy),
			Join("", greedy, p), Join("", nirs, m), Join("", p, mine), Join("", m, mutate),
			{"", path(140, 140, 104, 108)}, {"", path(104, 140, 140, 108)},
			Join("", mine, best), Join("", mutate, replace), Join("after the last round", best, last),
			{"", path(12, 67, 5, 67, 5, 146, 12, 146)}, {"", path(232, 67, 239, 67, 239, 146, 232, 146)},
		})
}
