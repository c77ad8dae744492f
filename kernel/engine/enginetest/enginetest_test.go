package enginetest

import "testing"

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"a":                                 "a",
		"\x1b[31mpanic\x1b[0m: \x1b[1mboom": "panic: boom",
		"cut \x1b[31":                       "cut 31",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) is %q, want %q", in, got, want)
		}
	}
}
