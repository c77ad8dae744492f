package display

import "testing"

// TestLaTeX checks that one formula needs no dollar signs, and that other texts stay as
// they are.
func TestLaTeX(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`\int_0^1 x^2`: `$\int_0^1 x^2$`, " x_1\n": "$x_1$",
		"$x$ and $y$": "$x$ and $y$", `\[ x \]`: `\[ x \]`, `\begin{align} x &= 1 \end{align}`: `\begin{align} x &= 1 \end{align}`,
		"no formula": "no formula", `\emph{word}`: `\emph{word}`, `\beta`: `$\beta$`, `\item x_1`: `\item x_1`,
	} {
		if got := latexOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
