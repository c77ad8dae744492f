package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

type Address struct {
	Street string `json:"street"`
	Zip    *int   `json:"zip,omitempty"`
}

type Person struct {
	Name    string         `json:"name"`
	Age     int            `json:"age,omitempty"`
	Emails  []string       `json:"emails"`
	Home    Address        `json:"home"`
	Work    *Address       `json:"work,omitempty"`
	Tags    map[string]any `json:"tags,omitempty"`
	Skip    string         `json:"-"`
	private int
	Raw     json.RawMessage `json:"raw,omitempty"`
	Str     int             `json:"str,string"`
}

func main() {
	zip := 12345
	p := Person{Name: "Ann <b>", Emails: nil, Home: Address{"Main", &zip}, Tags: map[string]any{"b": 1, "a": []int{1}}, Skip: "s", private: 3, Raw: json.RawMessage(`{"k":1}`), Str: 7}
	b, err := json.Marshal(p)
	fmt.Println(string(b), err)
	b, _ = json.MarshalIndent(map[string]any{"x": 1.5, "a": nil, "l": []any{true, "s"}}, "", "  ")
	fmt.Println(string(b))
	var q Person
	err = json.Unmarshal([]byte(`{"name":"Bob","age":41,"emails":["a","b"],"home":{"street":"S"},"work":{"street":"W","zip":9},"tags":{"n":null,"f":1e3},"unknown":1,"str":"5"}`), &q)
	fmt.Println(q.Name, q.Age, q.Emails, q.Home, *q.Work.Zip, q.Tags, q.Str, err)
	var v any
	json.Unmarshal([]byte(`[1,"x",{"k":[null,false]}]`), &v)
	fmt.Printf("%v %T\n", v, v)
	for _, x := range v.([]any) {
		switch y := x.(type) {
		case float64:
			fmt.Println("number", y)
		case string:
			fmt.Println("string", y)
		case map[string]any:
			fmt.Println("object", len(y))
		}
	}
	err = json.Unmarshal([]byte(`{"name": 5}`), &q)
	fmt.Println(err != nil, q.Name)
	err = json.Unmarshal([]byte(`{bad`), &v)
	fmt.Println(err)
	dec := json.NewDecoder(strings.NewReader(`{"street":"1"} {"street":"2"}`))
	for dec.More() {
		var a Address
		if err := dec.Decode(&a); err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(a.Street)
	}
	var m map[string]int
	fmt.Println(json.Unmarshal([]byte(`{"a":1}`), &m), m)
	s := struct {
		A int `json:"a"`
		B []byte
		C [2]bool
		D any
	}{1, []byte("hi"), [2]bool{true, false}, struct{ X int }{3}}
	b, _ = json.Marshal(s)
	fmt.Println(string(b))
	b, _ = json.Marshal([]map[string]int{{"z": 1, "a": 2}})
	fmt.Println(string(b))
}
