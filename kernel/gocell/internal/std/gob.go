package std

import (
	"encoding/gob"
	"fmt"
	"reflect"
	"strings"
)

// register registers a type with package gob, which allows one type for a name:
// a type that a cell declares again is registered under another name.
func register(v any, name string, how func(any)) {
	t := reflect.TypeOf(v)
	if t == nil {
		how(v)
	}
	if name == "" {
		name = t.String()
	}
	named := t
	for named.Name() == "" && named.Kind() == reflect.Pointer {
		named = named.Elem()
	}
	for i := 2; ; i++ {
		text := ""
		func() {
			defer func() {
				if r := recover(); r != nil {
					text = fmt.Sprint(r)
				}
			}()
			how(v)
		}()
		switch {
		case text == "":
			return
		case named.PkgPath() != "main" || !strings.HasPrefix(text, "gob: registering duplicate types"):
			panic(text)
		}
		again := fmt.Sprintf("%s#%d", name, i)
		how = func(v any) { gob.RegisterName(again, v) }
	}
}
