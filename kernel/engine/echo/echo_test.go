package echo_test

import (
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/echo"
	"dace.local/kernel/engine/enginetest"
)

func TestConformance(t *testing.T) {
	enginetest.Test(t, enginetest.Language{
		New:             func() (engine.Engine, error) { return echo.New(), nil },
		Hello:           "%print hello",
		Oops:            "%eprint oops",
		Mixed:           "%print a\n%eprint b\n%display text/html <b>x</b>\n%print c",
		Ticks:           "%print tick\n%sleep 100ms\n%print tick\n%sleep 100ms\n%print tick",
		Many:            "%repeat 10000 x",
		Value:           "as is",
		ValueText:       "as is",
		SetOne:          "größe = 1",
		Get:             "größe",
		SetTwoFail:      "größe = 2\n%fail on purpose",
		FailName:        "Failure",
		SetThreeInvalid: "größe = 3\n%nonsense",
		Panic:           "%panic boom",
		Loop:            "%loop",
		Sleep:           "%sleep 1h",
		Late:            "%go 100ms late",
		Ask:             "%input name? ",
		Prompt:          "name? ",
		Display:         "%show d1 text/html <b>x</b>\n%update d1 text/html <i>y</i>",
		Clear:           "%clear wait",
		Page:            "?print",
		Complete:        []string{"a", "{}", ""},
		Incomplete:      []string{"{", "{{}"},
		Invalid:         []string{"}", "{}}{"},
		Completions: []enginetest.Completion{
			{Code: "%pri|", Want: "print", Result: "%print"},
			{Code: "日本 grö|", Want: "größe", Result: "日本 größe"},
			{Code: "日本\n gr| = 2", Want: "größe", Result: "日本\n größe = 2"},
		},
		Inspect:        "größe",
		InspectHas:     "1",
		InspectUnknown: "nobody",
		Expression:     "größe",
		ExpressionText: "1",
		NoExpression:   "%print x",
	})
}
