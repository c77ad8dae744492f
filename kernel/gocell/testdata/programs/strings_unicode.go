package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const banner = `raw "text"
	with\n two lines`

func reverse(s string) string {
	rs := []rune(s)
	for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
		rs[i], rs[j] = rs[j], rs[i]
	}
	return string(rs)
}

func main() {
	s := "héllo, 世界\x00\u00e9\U0001F600"
	fmt.Println(len(s), utf8.RuneCountInString(s), []byte(s)[:3], s[1:3], string(s[0]))
	for i, r := range "aé世" {
		fmt.Print(i, ":", r, ":", string(r), ":", utf8.RuneLen(r), " ")
	}
	fmt.Println()
	for i := 0; i < len("né"); i++ {
		fmt.Printf("%x ", "né"[i])
	}
	fmt.Println(banner)
	fmt.Println(reverse("añb世"), reverse(""))
	bad := "a\xffb"
	for i, r := range bad {
		fmt.Print(i, " ", r, " ", r == utf8.RuneError, ";")
	}
	fmt.Println(utf8.ValidString(bad), []rune(bad), strings.ToValidUTF8(bad, "?"))
	fmt.Printf("%q %+q %x %v\n", s, s, bad, []byte(bad))
	fmt.Println(strings.Fields("  a b  c "), strings.Split("a,b,,c", ","), strings.SplitN("a,b,c", ",", 2), len(strings.Split("", ",")))
	fmt.Println(strings.TrimFunc("123abc456", unicode.IsDigit), strings.Trim("xxhixx", "x"), strings.TrimPrefix("prefix", "pre"), strings.TrimLeft("aab", "a"))
	fmt.Println(strings.Contains("seafood", "foo"), strings.Index("chicken", "ken"), strings.LastIndex("go gopher", "go"), strings.Count("cheese", "e"))
	fmt.Println(strings.Replace("oink oink", "k", "ky", 1), strings.ReplaceAll("oink oink", "oink", "moo"), strings.Title("her royal"), strings.EqualFold("Go", "GO"))
	before, after, ok := strings.Cut("k=v=w", "=")
	fmt.Println(before, after, ok)
	r := strings.NewReplacer("<", "&lt;", ">", "&gt;")
	fmt.Println(r.Replace("<b>"))
	var b strings.Builder
	for i := 3; i > 0; i-- {
		fmt.Fprintf(&b, "%d...", i)
	}
	b.WriteByte('!')
	b.WriteRune('世')
	fmt.Println(b.String(), b.Len())
	n, err := strconv.Atoi("12x")
	fmt.Println(n, err)
	f, _ := strconv.ParseFloat("1e3", 64)
	u, err := strconv.ParseUint("300", 10, 8)
	fmt.Println(f, u, err, strconv.Quote("hi\n"), strconv.FormatInt(-255, 16), strconv.Itoa(-7))
	bs := []byte("hello")
	bs[0] = 'J'
	str := string(bs)
	bs[1] = 'E'
	fmt.Println(str, string(bs))
	fmt.Println("abc" < "abd", "a" < "B", "" < "a", "x"+"y" == "xy")
	s2 := "abc"
	s2 += string(rune(100)) + string('e')
	fmt.Println(s2, string(rune(0x4e16)), "\a\b"[0], '\'', "\"")
	fmt.Println(strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return -1
		}
		return unicode.ToUpper(r)
	}, "aBcDé"))
	fmt.Println(strings.Compare("a", "b"), strings.Repeat("=", 10), strings.Join([]string{"x", "y"}, "-"))
	copy(bs, "xyz")
	fmt.Println(string(bs), append([]byte("a"), "bc"...))
	type Str string
	t := Str("typed") + "!"
	fmt.Println(t[1:], len(t), string(t), []byte(t)[0])
	switch {
	case s > "z":
		fmt.Println("greater")
	default:
		fmt.Println("less")
	}
}
