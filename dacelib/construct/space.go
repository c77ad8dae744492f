package construct

import (
	"fmt"
	"math"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/smac"
)

// Space returns the configuration space of BRKGA (Appendix B) repeated k times:
// Theta^k, with 5k parameters. The default of each is [200, 700, 100, 0.7,
// False].
func Space(k int) smac.Space {
	d := brkga.Default()
	var s smac.Space
	for i := range k {
		name := func(n string) string {
			if k == 1 {
				return n
			}
			return fmt.Sprintf("%s %d", n, i+1)
		}
		s.Params = append(s.Params,
			smac.Param{Name: name("elites"), Kind: smac.Int, Lo: brkga.MinElites, Hi: brkga.MaxElites, Default: float64(d.Elites)},
			smac.Param{Name: name("offspring"), Kind: smac.Int, Lo: brkga.MinOffspring, Hi: brkga.MaxOffspring, Default: float64(d.Offspring)},
			smac.Param{Name: name("mutants"), Kind: smac.Int, Lo: brkga.MinMutants, Hi: brkga.MaxMutants, Default: float64(d.Mutants)},
			smac.Param{Name: name("bias"), Kind: smac.Float, Lo: 0, Hi: 1, Default: d.Bias},
			smac.Param{Name: name("duplicates"), Kind: smac.Bool},
		)
	}
	return s
}

// Configs returns the configurations of a point of [Space]: one for every five
// numbers.
func Configs(point []float64) []brkga.Config {
	var out []brkga.Config
	for ; len(point) >= 5; point = point[5:] {
		out = append(out, brkga.Config{
			Elites: int(math.Round(point[0])), Offspring: int(math.Round(point[1])), Mutants: int(math.Round(point[2])),
			Bias: point[3], Duplicates: point[4] == 1,
		})
	}
	return out
}
