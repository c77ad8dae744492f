package notebook

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

// formulas lists the kinds of formulas found in notebooks. The golden page has
// to be checked by eye.
var formulas = []string{
	`f(x) = \sum_{i=1}^{n} w_i x_i, \quad x \in \{0,1\}^n`,
	`\mathcal{L}(\theta) = \frac{1}{n} \sum_{i=1}^n \left( y_i - s_\theta(z_i) \right)^2 + \beta\, D_{\mathrm{KL}}\big(q(z \mid x) \,\|\, p(z)\big)`,
	`\theta^* = \operatorname*{arg\,min}_{\theta \in \Theta} \max_{1 \le j \le K} \mathbb{E}_{I \sim \mathcal{D}}\left[ f_{\theta_j}(I) \right]`,
	`\hat{\mu}' = \bar{x} \pm 1.96\,\frac{\sigma}{\sqrt{n}}, \qquad \sqrt[3]{x^2 + y_{ij}^{2k}}`,
	`\lvert S \rvert \leq 10,000 \implies \text{cost is } \mathcal{O}(n \log n)`,
	`\mathbf{W}^\top \mathbf{x} + \boldsymbol{\beta}, \; \alpha_1, \ldots, \alpha_d \in \mathbb{R}^{d \times 128}`,
	`f(x) = \begin{cases} x & \text{if } x > 0 \\ 0.01\,x & \text{otherwise} \end{cases}`,
	`A = \begin{pmatrix} a_{11} & \cdots & a_{1n} \\ \vdots & \ddots & \vdots \\ a_{m1} & \cdots & a_{mn} \end{pmatrix}`,
	`\begin{aligned} \nabla_\mu J &= \frac{1}{2N} \sum_{k=1}^{N} \epsilon_k \left( r_k^+ - r_k^- \right) \\ \sigma &\leftarrow \sigma + \alpha \nabla_\sigma J \end{aligned}`,
	`\int_0^1 x^2\,dx = \frac13, \quad \lim_{n \to \infty} \left(1 + \tfrac1n\right)^n = e`,
	`\underbrace{a + b}_{\text{sum}} \neq \overline{xy} \cup \bigcup_{i} A_i`,
	`\Pr[X \ge t] \le \binom{n}{k} e^{-t^2/2}`,
	`90\% \ \&\ \#1`,
}

func TestFormulas(t *testing.T) {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><meta charset=\"utf-8\"><style>" + style + "</style><main>\n")
	for _, f := range formulas {
		for _, display := range []bool{true, false} {
			ml := mathHTML(f, display)
			if !strings.HasPrefix(ml, "<math") {
				t.Errorf("not understood: %s", f)
			}
			wellFormed(t, ml)
			b.WriteString("<p>Text " + ml + " text</p>\n")
		}
	}
	golden(t, "formulas.html", []byte(b.String()))
	// Formulas that are not supported stay readable TeX.
	for _, f := range []string{`\foo`, `{`, `}`, `x^`, `x_1_2`, `\frac{1}`, `\left( x`, `\right)`, `\begin{x}\end{x}`, `\begin{cases} x`, `a & b`, `a \\ b`, `\sqrt[`, `\text{$x$}`, `\`, strings.Repeat("{", 1e5), strings.Repeat(`\hat`, 1e5), `%`} {
		ml := mathHTML(f, false)
		if !strings.HasPrefix(ml, `<span class="math">`) {
			t.Errorf("%.20s: %s", f, ml)
		}
	}
}

func wellFormed(t *testing.T, ml string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(ml))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%v in %s", err, ml)
		}
	}
}

func FuzzTeX(f *testing.F) {
	for _, s := range formulas {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tex string) {
		for _, c := range tex { // skip control characters: this test checks the nesting as XML, which does not allow them
			if c < ' ' && c != '\n' && c != '\t' || c >= 0xd800 && c <= 0xdfff || c >= 0xfffd {
				return
			}
		}
		wellFormed(t, mathHTML(tex, true))
	})
}
