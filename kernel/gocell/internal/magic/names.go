package magic

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/internal/suggest"
)

var kinds = []string{"constant", "function", "type", "variable"}

// declared returns the names of the kinds that the arguments ask for.
func declared(c *Call) ([]Declared, error) {
	args, err := c.Words()
	if err != nil {
		return nil, err
	}
	for i, a := range args {
		if args[i] = strings.TrimSuffix(a, "s"); !slices.Contains(kinds, args[i]) {
			return nil, fmt.Errorf("there is no kind %q%s; the kinds are %s", a, suggest.DidYouMean("", a, slices.Values(kinds)), strings.Join(kinds, ", "))
		}
	}
	return slices.DeleteFunc(c.Declared(), func(d Declared) bool { return len(args) > 0 && !slices.Contains(args, d.Kind) }), nil
}

func who(c *Call) error {
	list, err := declared(c)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		c.Out.Stdout("Nothing is declared.\n")
		return nil
	}
	var b strings.Builder
	for i, d := range list {
		switch {
		case i == 0:
		case i%8 == 0:
			b.WriteByte('\n')
		default:
			b.WriteString("\t ")
		}
		b.WriteString(d.Name)
	}
	c.Out.Stdout(b.String() + "\n")
	return nil
}

func whos(c *Call) (engine.Result, error) {
	list, err := declared(c)
	if err != nil {
		return engine.Result{}, err
	}
	if len(list) == 0 {
		c.Out.Stdout("Nothing is declared.\n")
		return engine.Result{}, nil
	}
	values, err := Values(c, list)
	if err != nil {
		return engine.Result{}, err
	}
	rows := [][3]string{{"Name", "Type", "Value"}}
	for _, d := range list {
		value := d.Kind
		if v, ok := values[d.Name]; ok {
			value = display.Line(v, 60)
		}
		rows = append(rows, [3]string{d.Name, cut(d.Type, 40), value})
	}
	var width [2]int
	for _, r := range rows {
		width[0], width[1] = max(width[0], utf8.RuneCountInString(r[0])), max(width[1], utf8.RuneCountInString(r[1]))
	}
	var b strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&b, "%-*s   %-*s   %s\n", width[0], r[0], width[1], r[1], r[2])
		if i == 0 {
			b.WriteString(strings.Repeat("-", width[0]+width[1]+11) + "\n")
		}
	}
	c.Out.Stdout(b.String())
	return engine.Result{}, nil
}

// Values returns the values of the variables and constants of a list.
func Values(c *Call, list []Declared) (map[string]any, error) {
	var names []string
	for _, d := range list {
		if d.Kind == "variable" || d.Kind == "constant" && !strings.HasPrefix(d.Type, "untyped") {
			names = append(names, d.Name)
		}
	}
	values := map[string]any{}
	if len(names) == 0 {
		return values, nil
	}
	got, err := c.Values(c.Ctx, c.at("[]any{"+strings.Join(names, ", ")+"}"), c.Out)
	if err != nil {
		return nil, err
	}
	all, ok := got[0].([]any)
	if !ok || len(all) != len(names) {
		return nil, fmt.Errorf("internal: the values are a %T", got[0])
	}
	for i, name := range names {
		values[name] = all[i]
	}
	return values, nil
}

func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

func reset(c *Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	set, rest, err := options(args, "-f")
	if err == nil && len(rest) > 0 {
		err = errors.New("unknown argument: " + c.usage())
	}
	if err != nil {
		return err
	}
	if !set["-f"] {
		answer, err := c.Out.Input(c.Ctx, "Once deleted, variables cannot be recovered. Proceed (y/[n])? ", false)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("cannot ask whether to forget everything: %w; %%reset -f does not ask", err)
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			c.Out.Stdout("Nothing done.\n")
			return nil
		}
	}
	c.Reset()
	return nil
}

func remove(c *Call) error {
	names, err := c.Words()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("want names: " + c.usage())
	}
	unknown, lost := c.Remove(names)
	if len(unknown) > 0 {
		c.Out.Stderr("not declared: " + strings.Join(unknown, ", ") + "\n")
	}
	for _, why := range lost {
		c.Out.Stderr(why + "\n")
	}
	return nil
}

// args sets os.Args of the cells.
func args(c *Call) error {
	words, err := c.Words()
	if err != nil {
		return err
	}
	c.SetArgs(words)
	return nil
}

func precision(c *Call) error {
	arg, err := one(c)
	if err != nil {
		return err
	}
	return display.SetPrecision(arg)
}
