package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strings"

	library "dace.local/dacelib/docs"
	"dace.local/kernel/internal/suggest"

	kernel "dace.local/kernel/docs"
)

// guides are the folders of guides that the command carries.
var guides = []fs.FS{kernel.Guides(), library.Guides()}

// topics returns the names of the guides, sorted.
func topics() (names []string) {
	for _, folder := range guides {
		files, _ := fs.Glob(folder, "*.md")
		for _, f := range files {
			names = append(names, strings.TrimSuffix(f, ".md"))
		}
	}
	slices.Sort(names)
	return names
}

// topic returns the guide of a name.
func topic(name string) (text string, ok bool) {
	for _, folder := range guides {
		if b, err := fs.ReadFile(folder, name+".md"); err == nil {
			return regexp.MustCompile(`(?m)^<!-- .* -->\n`).ReplaceAllString(string(b), ""), true
		}
	}
	return "", false
}

// helpVerb is dace help, which no list of verbs has.
var helpVerb = &verb{name: "help", run: func(env *Env, _ *verb, words []string) int { return runHelp(env, words) }}

// runHelp prints the help on a verb, a guide, one of its sections, or what guides and
// verbs say of some words.
func runHelp(env *Env, words []string) int {
	if len(words) == 0 || words[0] == "-h" || words[0] == "-help" || words[0] == "--help" || words[0] == "help" {
		env.page(overview())
		return exitOK
	}
	if v := findVerb(words[0]); v != nil && len(words) == 1 {
		var help strings.Builder
		with := *env
		with.Stdout = &help
		code := v.run(&with, v, []string{"-h"})
		env.page(help.String())
		return code
	}
	if text, ok := topic(words[0]); ok {
		if len(words) == 1 {
			env.page(text)
			return exitOK
		}
		wanted := strings.Join(words[1:], " ")
		for _, s := range sections(words[0], text) {
			if strings.EqualFold(s.title, wanted) {
				env.page(s.text)
				return exitOK
			}
		}
	}
	found := searchHelp(words)
	if len(found) == 0 {
		meant := ""
		if len(words) == 1 {
			meant = suggest.DidYouMean("", words[0], slices.Values(slices.Concat(verbNames(), topics(), []string{"help"})))
		}
		fmt.Fprintf(env.Stderr, "dace help: no verb, guide or section has %q%s\n\"dace help\" lists the verbs and the guides.\n", strings.Join(words, " "), meant)
		return exitUsage
	}
	for _, s := range found {
		fmt.Fprintf(env.Stdout, "%s\n    %s\n", s.command(), s.excerpt)
	}
	return exitOK
}

// A section is a part of a guide from a heading to the next, or the help of a verb.
type section struct {
	topic, title string // title is "" for a verb's help
	text         string
	excerpt      string // a line of the text that the search has found
	score        float64
}

// command returns the command that prints the section.
func (s section) command() string {
	if s.title == "" {
		return "dace " + s.topic + " -h"
	}
	return fmt.Sprintf("dace help %s %q", s.topic, s.title)
}

// sections returns the sections of a guide; "#" in a block of code begins none.
func sections(name, text string) (list []section) {
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if title := strings.TrimLeft(line, "#"); title != line && !code && strings.HasPrefix(title, " ") {
			list = append(list, section{topic: name, title: strings.ReplaceAll(strings.TrimSpace(title), "`", "")})
		}
		if len(list) > 0 {
			list[len(list)-1].text += line
		}
	}
	return list
}

// mostFound is how many sections a search shows.
const mostFound = 6

// searchHelp returns the sections that have the most of some words, those that few
// sections have counting more, the best first.
func searchHelp(words []string) []section {
	var all []section
	for _, name := range topics() {
		text, _ := topic(name)
		all = append(all, sections(name, text)...)
	}
	for _, v := range verbs() {
		all = append(all, section{topic: v.name, text: v.name + ": " + v.short + "\n" + v.usage})
	}
	var patterns []*regexp.Regexp // a word, or one that begins with its stem
	for _, w := range strings.Fields(strings.ToLower(strings.Join(words, " "))) {
		w = strings.Trim(w, "?!.,;:\"'")
		if !slices.Contains(plainWords, w) && w != "" {
			patterns = append(patterns, regexp.MustCompile(`(?i)(?:^|[^\pL\d])`+regexp.QuoteMeta(stem(w))))
		}
	}
	for _, p := range patterns {
		var has []int
		for i, s := range all {
			if p.MatchString(s.title + " " + s.text) {
				has = append(has, i)
			}
		}
		worth := math.Log(float64(len(all)+1) / float64(len(has)+1))
		for _, i := range has {
			all[i].score += worth
			if p.MatchString(all[i].title) || p.MatchString(all[i].topic) {
				all[i].score += worth
			}
			all[i].score += worth * min(1, float64(len(p.FindAllString(all[i].text, -1)))/10)
		}
	}
	for i, s := range all { // a long section has many words by chance
		all[i].score /= 1 + float64(len(s.text))/20_000
	}
	slices.SortStableFunc(all, func(a, b section) int { return cmp.Compare(b.score, a.score) })
	var found []section
	for _, s := range all {
		if len(found) == mostFound || s.score <= 0 || s.score < all[0].score/2 {
			break
		}
		s.excerpt = excerpt(s.text, patterns)
		found = append(found, s)
	}
	return found
}

// plainWords are those of a question that say nothing of what it is about.
var plainWords = strings.Fields("a about an and are can cannot do does for from how i in into is it my of on one or the to use using what when where which why with you")

// stem returns the part of a word that its forms share, roughly.
func stem(w string) string {
	for _, end := range []string{"ations", "ation", "ies", "ing", "ed", "es", "e", "s", "y"} {
		if cut, ok := strings.CutSuffix(w, end); ok && len(cut) >= 4 {
			return cut
		}
	}
	return w
}

// excerpt returns the line of a text that has the most of some words.
func excerpt(text string, patterns []*regexp.Regexp) string {
	best, most := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "|--") {
			continue
		}
		n := 0
		for _, p := range patterns {
			if p.MatchString(line) {
				n++
			}
		}
		if n > most || best == "" {
			best, most = line, n
		}
	}
	if r := []rune(best); len(r) > 100 {
		best = string(r[:97]) + "..."
	}
	return best
}
