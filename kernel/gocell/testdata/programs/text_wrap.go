package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"text/tabwriter"
	"unicode"
)

const poem = `The quick brown fox jumps over the lazy dog.
  The dog sleeps; the fox runs -- and runs.`

func wrap(s string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(s) {
		if line != "" && len(line)+1+len(w) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return
}

func caesar(s string, k int) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLower(r):
			return 'a' + (r-'a'+rune(k)+26)%26
		case unicode.IsUpper(r):
			return 'A' + (r-'A'+rune(k)+26)%26
		}
		return r
	}, s)
}

func rle(s string) string {
	var b strings.Builder
	rs := []rune(s)
	for i := 0; i < len(rs); {
		j := i
		for j < len(rs) && rs[j] == rs[i] {
			j++
		}
		fmt.Fprintf(&b, "%d%c", j-i, rs[i])
		i = j
	}
	return b.String()
}

func main() {
	for i, l := range wrap(poem, 20) {
		fmt.Printf("%2d|%-20s|\n", i+1, l)
	}
	counts := map[string]int{}
	for _, w := range regexp.MustCompile(`[a-z]+`).FindAllString(strings.ToLower(poem), -1) {
		counts[w]++
	}
	words := make([]string, 0, len(counts))
	for w := range counts {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool {
		if counts[words[i]] != counts[words[j]] {
			return counts[words[i]] > counts[words[j]]
		}
		return words[i] < words[j]
	})
	tw := tabwriter.NewWriter(os.Stdout, 2, 4, 2, ' ', tabwriter.AlignRight)
	for _, w := range words[:4] {
		fmt.Fprintf(tw, "%s\t%d\t\n", w, counts[w])
	}
	tw.Flush()
	fmt.Println(caesar("Hello, World", 3), caesar(caesar("abcxyz", 5), -5), rle("aaabccd世世"))
	sc := bufio.NewScanner(strings.NewReader(poem))
	for n := 1; sc.Scan(); n++ {
		fmt.Println(n, len(sc.Text()), strings.TrimSpace(sc.Text())[:3])
	}
	re := regexp.MustCompile(`(?P<y>\d{4})-(?P<m>\d\d)`)
	fmt.Println(re.ReplaceAllString("on 2024-05 and 1999-12", "$m/$y"), re.FindAllStringSubmatchIndex("2024-05", -1), re.SubexpNames())
	fmt.Println(re.ReplaceAllStringFunc("2024-05", strings.ToUpper), regexp.QuoteMeta("a.b*c"))
	isPal := func(s string) bool {
		var rs []rune
		for _, r := range s {
			if unicode.IsLetter(r) {
				rs = append(rs, unicode.ToLower(r))
			}
		}
		for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
			if rs[i] != rs[j] {
				return false
			}
		}
		return true
	}
	fmt.Println(isPal("A man, a plan, a canal: Panama"), isPal("no"))
}
