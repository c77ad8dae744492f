package main

import (
	"fmt"
	"os"
	"strings"
	"text/template"
)

type Item struct {
	Name  string
	Price float64
	Tags  []string
}

type Order struct {
	Items []Item
	By    map[string]int
	Paid  bool
}

const text = `{{define "row"}}- {{.Name | printf "%-8s"}} {{printf "%.2f" .Price}}{{end -}}
{{range $i, $it := .Items}}{{$i}} {{template "row" $it}} {{up .Name}} {{add $i 3}}{{range .Tags}} #{{.}}{{else}} none{{end}}
{{end}}{{with .By}}{{.a}}{{end}} {{if and .Paid (gt (len .Items) 1)}}paid{{else}}open{{end}} {{index .By "b"}} {{len .Items}}
{{- range $k, $v := .By}} {{$k}}={{$v}}{{end}}
`

func main() {
	t := template.Must(template.New("t").Funcs(template.FuncMap{"up": strings.ToUpper, "add": func(a, b int) int { return a + b }}).Parse(text))
	o := Order{[]Item{{"pen", 1.5, nil}, {"book", 12, []string{"x", "y"}}}, map[string]int{"b": 2, "a": 1}, true}
	if err := t.Execute(os.Stdout, o); err != nil {
		fmt.Println(err)
	}
	t2 := template.Must(template.New("u").Funcs(template.FuncMap{"add": func(a, b int) int { return a + b }}).Parse("{{add 1 2}} {{.X}} {{.M.k}}\n"))
	fmt.Println(t2.Execute(os.Stdout, map[string]any{"X": 1, "M": map[string]string{"k": "v"}}))
	_, err := template.New("bad").Parse("{{.X")
	fmt.Println(err)
	err = template.Must(template.New("m").Parse("{{.Missing}}")).Execute(os.Stdout, o)
	fmt.Println(err != nil)
}
