package construct

import (
	"context"

	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/problem"
)

// bestOfNIRs is [Best] for BRKGA alone. Like [DACE] it trains an NIR for each
// training instance and searches on the NIRs. It generates no instances. It spends its
// runs on judging every configuration under twelve seeds of the solver on every NIR, as
// a search that sees one seed overfits it; and it judges a run by its value after four fifths of
// the evaluations, as configurations that need all of them are too slow for larger
// instances. The few configurations that the searches found are then run on the
// training instances themselves, and these runs decide on the portfolio, as NIRs
// can mislead all searches in the same way. The defaults are one round, Seeds = 12,
// Share = 0.8, Minings = 8, Trials = 350, NIR.Samples = 10,000 and Checks = 16: on
// five instances 172,000 runs and at most 460,000 evaluations.
//
// A budget in evaluations is spent on the solutions for the NIRs, two fifths of it
// up to 10,000 an instance, then on as many checks as the rest pays for; what these
// leave goes to the NIRs, too. If it pays for none, the NIRs get all.
func bestOfNIRs(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	if s.Rounds >= 0 {
		s.Rounds = 1
	}
	defaults.Set(&s.Seeds, 12)
	defaults.Set(&s.Share, 0.8)
	defaults.Set(&s.NIR.Samples, 10_000)
	d := methodDefaults{Minings: 8, Trials: 350}
	s, err := s.withDefaults(d)
	if err != nil {
		return Result{}, err
	}
	s.planChecks(len(training))
	return coevolveNeural(ctx, "BEST", training, s, d, func(n *neural) population { return &embeddings{n} })
}

// planChecks sets Checks on n instances, unless it is set. The other settings
// have their defaults.
func (s *Settings) planChecks(n int) {
	if s.Checks != 0 || n == 0 {
		return
	}
	s.Checks = 16
	if e := s.Budget.Evaluations; e > 0 {
		s.Checks = (e/n - min(10_000, e/n*2/5) - checkSample) / (s.candidates() * s.judged())
	}
	if b := s.Budget.Runs; b > 0 { // at most a tenth of them
		s.Checks = min(s.Checks, b/10/(n*s.candidates()))
	}
	if s.Checks < 1 {
		s.Checks = -1
	}
}
