package smac

import (
	"context"
	"math"
	"testing"
	"time"
)

func branin(c []float64) float64 {
	x, y := c[0], c[1]
	b, cc, t := 5.1/(4*math.Pi*math.Pi), 5/math.Pi, 1/(8*math.Pi)
	v := y - b*x*x + cc*x - 6
	return v*v + 10*(1-t)*math.Cos(x) + 10
}

func TestQuick(t *testing.T) {
	s := Settings{Space: Space{Params: []Param{{Name: "x", Lo: -5, Hi: 10}, {Name: "y", Lo: 0, Hi: 15}}}, Trials: 200, Seed: 1}
	t0 := time.Now()
	r, err := Run(context.Background(), func(_ context.Context, c []float64) (float64, error) { return branin(c), nil }, s)
	t.Log(r.Best, r.Cost, len(r.History), r.Status, err, time.Since(t0))
	sp := Space{Params: []Param{
		{Name: "elites", Kind: Int, Lo: 1, Hi: 400, Default: 200},
		{Name: "offspring", Kind: Int, Lo: 1, Hi: 1000, Default: 700},
		{Name: "mutants", Kind: Int, Lo: 1, Hi: 200, Default: 100},
		{Name: "bias", Lo: 0, Hi: 1, Default: 0.7},
		{Name: "dup", Kind: Bool},
	}}
	t0 = time.Now()
	r, err = Run(context.Background(), func(_ context.Context, c []float64) (float64, error) {
		return math.Abs(c[0]-37) + math.Abs(c[1]-211)/3 + 100*math.Abs(c[3]-0.4) + 30*c[4] + 10*math.Sin(c[2]/7), nil
	}, Settings{Space: sp})
	t.Log(sp.Format(r.Best), r.Cost, len(r.History), r.Status, err, time.Since(t0))
}
