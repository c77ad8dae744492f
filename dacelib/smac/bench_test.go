package smac

import (
	"flag"
	"fmt"
	"math"
	"testing"
)

// theta returns BRKGA's configuration space k times over, with a cheap function
// of a similar shape: the cost of the best of k configurations on two
// instances.
func theta(k int) function {
	f := function{name: fmt.Sprint("theta^", k)}
	for i := range k {
		name := func(n string) string { return fmt.Sprint(n, i) }
		f.space.Params = append(f.space.Params,
			Param{Name: name("elites"), Kind: Int, Lo: 1, Hi: 400, Default: 200},
			Param{Name: name("offspring"), Kind: Int, Lo: 1, Hi: 1000, Default: 700},
			Param{Name: name("mutants"), Kind: Int, Lo: 1, Hi: 200, Default: 100},
			Param{Name: name("bias"), Lo: 0, Hi: 1, Default: 0.7},
			Param{Name: name("duplicates"), Kind: Bool},
		)
	}
	f.f = func(c []float64) float64 {
		one, two := math.Inf(1), math.Inf(1)
		for ; len(c) > 0; c = c[5:] {
			one = min(one, math.Abs(c[0]-37)+math.Abs(c[1]-211)/3+100*math.Abs(c[3]-0.4)+30*c[4]+10*math.Sin(c[2]/7))
			two = min(two, math.Abs(c[0]-12)+math.Abs(c[1]-90)/3+100*math.Abs(c[3]-0.7)+30*(1-c[4])+10*math.Sin(c[2]/3))
		}
		return one + two
	}
	return f
}

var benchWorkers = flag.Int("workers", 1, "goroutines of the model in BenchmarkRun")

// BenchmarkRun measures the optimiser's own time, without the function's, over
// BRKGA's space, of 5 parameters, and over four copies of it. On a core of an
// AMD EPYC (Zen 4) without other work, 1,600 trials take 0.90 s and 2.7 s. For
// more trials, fits become rarer: 25,600 trials over the 5 parameters take 9.7 s,
// where the aim is 20 s, and 51,200 over four copies 57 to 58 s, where it is 60 s;
// with -workers 2, 40 s.
//
// SMAC3 2.2.0 needs 162.9 s for 1,600 trials over the 5 parameters, 102 ms a
// trial (on an Intel Xeon).
func BenchmarkRun(b *testing.B) {
	for _, bm := range []struct{ k, trials int }{
		{1, 400}, {1, 1600}, {1, 6400}, {1, 25600}, {4, 400}, {4, 1600}, {4, 6400}, {4, 25600}, {4, 51200},
	} {
		f := theta(bm.k)
		b.Run(fmt.Sprintf("theta^%d/%d", bm.k, bm.trials), func(b *testing.B) {
			for b.Loop() {
				f.run(b, Settings{Trials: bm.trials, Workers: *benchWorkers})
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(bm.trials), "us/trial")
		})
	}
}
