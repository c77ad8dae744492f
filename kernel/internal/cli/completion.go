package cli

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"dace.local/dacelib/problem/cimp/snap"
)

var completionVerb = verb{
	name:  "completion",
	short: "print what a shell needs to complete dace's words",
	usage: `
Usage: dace completion bash|zsh|fish

Completes verbs, flags and the values of flags at Tab. For this user, once:

  bash   dace completion bash > ~/.local/share/bash-completion/completions/dace
  zsh    dace completion zsh > "${fpath[1]}/_dace"
  fish   dace completion fish > ~/.config/fish/completions/dace.fish

or, for the shell that runs, "source <(dace completion bash)".

Exit code: 0; 2 for wrong arguments.

Examples:
  dace completion bash
`,
}

func init() { completionVerb.run = runCompletion } // it looks through all verbs

// shells holds for each shell what has it ask `dace completion words WORD...`, whose
// last word is the one at the cursor, and which prints a word a line. Where that
// prints none, the shell completes names of files.
var shells = map[string]string{
	"bash": `_dace() {
	local IFS=$'\n'
	COMPREPLY=($(dace completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _dace dace
`,
	"zsh": `#compdef dace
_dace() {
	local -a words_
	words_=("${(@f)$(dace completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "$words_" ]]; then compadd -- "${words_[@]}"; else _files; fi
}
if [ "$funcstack[1]" = _dace ]; then _dace; else compdef _dace dace; fi
`,
	"fish": `function __dace_words
	dace completion words (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c dace -n 'count (__dace_words) >/dev/null' -f -a '(__dace_words)'
`,
}

func runCompletion(env *Env, v *verb, args []string) int {
	if len(args) > 0 && args[0] == "words" {
		for _, word := range completions(env, args[1:]) {
			fmt.Fprintln(env.Stdout, word)
		}
		return exitOK
	}
	rest, code, ok := v.parse(env, v.flags(env), args, true, 1, 1)
	if !ok {
		return code
	}
	text, known := shells[rest[0]]
	if !known {
		return v.misuse(env, "there is no completion for %q; there is for bash, zsh and fish", rest[0])
	}
	fmt.Fprint(env.Stdout, text)
	return exitOK
}

// completions returns the words that can stand in the place of the last of words,
// which follow the command's name, and begin as it does: none where names of files
// can.
func completions(env *Env, words []string) (found []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	add := func(words ...string) {
		for _, w := range words {
			if strings.HasPrefix(w, last) && w != "" {
				found = append(found, w)
			}
		}
	}
	if len(before) == 0 || len(before) == 1 && before[0] == "help" {
		add(verbNames()...)
		if len(before) == 1 {
			add(topics()...)
		}
		return found
	}
	v := findVerb(before[0])
	if v == nil {
		return nil
	}
	fs := v.flagsOf(env)
	if name := before[len(before)-1]; len(before) > 1 && strings.HasPrefix(name, "-") {
		if f := fs.Lookup(strings.TrimLeft(name, "-")); f != nil && !isSwitch(f) {
			add(choices(f.Usage)...)
			return found
		}
	}
	if strings.HasPrefix(last, "-") {
		dashes := "-"
		if strings.HasPrefix(last, "--") {
			dashes = "--"
		}
		if name, _, ok := strings.Cut(last, "="); ok {
			if f := fs.Lookup(strings.TrimLeft(name, "-")); f != nil && !isSwitch(f) {
				for _, c := range choices(f.Usage) {
					add(name + "=" + c)
				}
			}
			return found
		}
		fs.VisitAll(func(f *flag.Flag) { add(dashes + f.Name) })
		return found
	}
	switch {
	case len(before) == 1:
		add(v.words()...)
	case v == &dataVerb && before[1] == "fetch":
		for _, d := range snap.Datasets() {
			add(d.Name)
		}
		add("all")
	}
	return found
}

// flagsOf returns the flags of a verb: it runs the verb up to where it would parse
// its arguments.
func (v *verb) flagsOf(env *Env) *flag.FlagSet {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	asked := *env
	asked.Stdout, asked.Stderr = io.Discard, io.Discard
	asked.parsing = func(of *flag.FlagSet, _ error) { fs = of }
	v.run(&asked, v, nil)
	return fs
}

// isSwitch reports whether a flag takes no value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// words returns the words that can follow the verb at once, as the first lines of its
// usage have them: "Usage: dace data list", "dace completion bash|zsh|fish".
func (v *verb) words() (list []string) {
	lines, _, _ := strings.Cut(strings.TrimSpace(v.usage), "\n\n")
	for _, m := range regexp.MustCompile(`(?m)dace `+v.name+` ([\w|]+)(?:\s|$)`).FindAllStringSubmatch(lines, -1) {
		for w := range strings.SplitSeq(m[1], "|") {
			if !slices.Contains(list, w) {
				list = append(list, w)
			}
		}
	}
	return list
}

// choices returns the words that a flag's usage lists, at its beginning or behind a
// colon: "written, published or both".
func choices(usage string) []string {
	if _, list, ok := strings.Cut(usage, ": "); ok {
		usage = list
	}
	list := regexp.MustCompile(`^[\w-]+(?:(?:, | or )[\w-]+)+`).FindString(usage)
	return strings.FieldsFunc(strings.ReplaceAll(list, " or ", ", "), func(r rune) bool { return r == ',' || r == ' ' })
}
