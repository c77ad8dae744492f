package construct

import (
	"context"
	"testing"

	"dace.local/dacelib/problem/ccp"
)

// BenchmarkRace measures a run of SMAC of GLOBAL, 400 trials over portfolios of
// four on five training instances of CCP, d = 30. The result's cost is reported,
// too: it is the same in all versions. Processor time of a trial on one busy
// core of an AMD EPYC (Zen 3), in turns, medians of 3, SMAC's own included:
//
//	each run evaluates its first generation, in buffers of its own   2.7 ms
//	runs share first generations and buffers                         1.4 ms
//
// The limit: GLOBAL at the paper's scale, 200 runs of 51,200 trials, in 4 hours
// on two cores is 2.8 ms a trial.
func BenchmarkRace(b *testing.B) {
	set, err := ccp.Class().NewSet(1, 5, 0)
	if err != nil {
		b.Fatal(err)
	}
	r := race{judge: judge{evaluations: 800, seeds: 1}, problems: set.Training, members: 4, trials: 400, seed: 1, runSeed: 2, keep: &checkpoint{}}
	for b.Loop() {
		c, err := r.run(context.Background(), &work{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(-c.Sum, "cost")
	}
}
