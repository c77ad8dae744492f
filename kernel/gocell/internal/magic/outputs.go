package magic

import (
	"errors"
	"go/token"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
)

// show returns the magic that shows the cell's text as this MIME type.
func show(mime string) func(*Call) (engine.Result, error) {
	return func(c *Call) (engine.Result, error) {
		if c.Args != "" {
			return engine.Result{}, errors.New(c.Name + " takes no arguments: the text stands below it")
		}
		text := c.Text()
		c.Out.Display(engine.Bundle{Data: map[string]any{mime: text, "text/plain": text}}, "")
		return engine.Result{}, nil
	}
}

// capture runs the cell and keeps its outputs.
func capture(c *Call) (engine.Result, error) {
	name, err := one(c)
	if err != nil {
		return engine.Result{}, err
	}
	if name != "" && !token.IsIdentifier(name) {
		return engine.Result{}, errors.New(name + " cannot be the name of a variable: " + c.usage())
	}
	kept := &display.Capture{}
	out := kept.Outputs(c.Out)
	res, err := c.Run(c.Ctx, c.Body(), out)
	if !res.Value.Empty() {
		out.Display(res.Value, "")
	}
	res.Value = engine.Bundle{}
	if name == "" || err != nil {
		if err != nil {
			kept.Replay(c.Out) // what led to the error
		}
		return res, err
	}
	if _, err := c.Run(c.Ctx, c.at("var "+name+" *display.Capture"), c.Out); err != nil {
		return res, err
	}
	values, err := c.Values(c.Ctx, c.at("func(c *display.Capture) { "+name+" = c }"), c.Out)
	if err != nil {
		return res, err
	}
	set, ok := values[0].(func(*display.Capture))
	if !ok {
		return res, errors.New("internal: the setter is another function")
	}
	return res, c.Call(c.Ctx, c.Out, func() { set(kept) })
}
