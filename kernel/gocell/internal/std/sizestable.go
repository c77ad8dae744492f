package std

import (
	"bufio"
	"bytes"
	"container/ring"
	"crypto/sha3"
	"go/constant"
	"go/token"
	"image"
	"image/color"
	"index/suffixarray"
	"io"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
)

// sizedStd returns the functions of the standard library that allocate by a
// number or by a rectangle, and those that make a text longer by a factor.
func sizedStd() map[string]sized {
	m := sizedTexts()
	maps.Copy(m, sizedImages())
	maps.Copy(m, map[string]sized{
		"container/ring.New": func1(ring.New, func(n int) float64 { return bytesOf(32, n) }),

		"crypto/sha3.SumSHAKE128": func2(sha3.SumSHAKE128, func(_ []byte, n int) float64 { return float64(n) }),
		"crypto/sha3.SumSHAKE256": func2(sha3.SumSHAKE256, func(_ []byte, n int) float64 { return float64(n) }),

		"go/constant.Shift": func3(constant.Shift, func(x constant.Value, op token.Token, n uint) float64 {
			if op != token.SHL || x.Kind() == constant.Int && constant.Sign(x) == 0 {
				return 0
			}
			return float64(n) / 8
		}),

		"index/suffixarray.New": func1(suffixarray.New, func(b []byte) float64 { return 8 * float64(len(b)) }),

		"math/big.ParseFloat":         triple4(big.ParseFloat, func(_ string, _ int, prec uint, _ big.RoundingMode) float64 { return float64(prec) / 4 }),
		"(*math/big.Int).Lsh":         func3((*big.Int).Lsh, func(_, x *big.Int, n uint) float64 { return float64(x.BitLen())/8 + float64(n)/8 }),
		"(*math/big.Int).SetBit":      func4((*big.Int).SetBit, func(_, _ *big.Int, i int, _ uint) float64 { return float64(i) / 8 }),
		"(*math/big.Int).Exp":         func4((*big.Int).Exp, func(_, x, y, m *big.Int) float64 { return power(x, y, m) }),
		"(*math/big.Int).MulRange":    func3((*big.Int).MulRange, func(_ *big.Int, a, b int64) float64 { return factorial(a, b) }),
		"(*math/big.Int).Binomial":    func3((*big.Int).Binomial, func(_ *big.Int, n, k int64) float64 { return float64(min(n, 64*min(k, n-k))) / 8 }),
		"(*math/big.Float).SetPrec":   func2((*big.Float).SetPrec, func(_ *big.Float, n uint) float64 { return float64(min(n, big.MaxPrec)) / 8 }),
		"(*math/big.Float).Text":      func3((*big.Float).Text, func(x *big.Float, _ byte, prec int) float64 { return digits(x, prec) }),
		"(*math/big.Float).Append":    func4((*big.Float).Append, func(x *big.Float, _ []byte, _ byte, prec int) float64 { return digits(x, prec) }),
		"(*math/big.Rat).FloatString": func2((*big.Rat).FloatString, func(_ *big.Rat, prec int) float64 { return 3 * float64(prec) }),

		"math/rand/v2.Perm":         func1(rand.Perm, func(n int) float64 { return bytesOf(8, n) }),
		"(*math/rand/v2.Rand).Perm": func2((*rand.Rand).Perm, func(_ *rand.Rand, n int) float64 { return bytesOf(8, n) }),

		"reflect.MakeSlice":       func3(reflect.MakeSlice, func(t reflect.Type, _, n int) float64 { return elements(t, reflect.Slice, n) }),
		"reflect.MakeChan":        func2(reflect.MakeChan, func(t reflect.Type, n int) float64 { return elements(t, reflect.Chan, n) }),
		"reflect.MakeMapWithSize": func2(reflect.MakeMapWithSize, func(t reflect.Type, n int) float64 { return elements(t, reflect.Map, n) }),
		"reflect.ArrayOf":         func2(reflect.ArrayOf, func(n int, t reflect.Type) float64 { return bytesOf(float64(t.Size()), n) }),
		"reflect.New":             func1(reflect.New, typeSize),
		"reflect.Zero":            func1(reflect.Zero, typeSize),
		"(reflect.Value).Grow": do2(reflect.Value.Grow, func(v reflect.Value, n int) float64 {
			if v.Kind() != reflect.Slice {
				return 0
			}
			return elements(v.Type(), reflect.Slice, v.Len()) + elements(v.Type(), reflect.Slice, n)
		}),

		// Each processor of the scheduler has structures of some kilobytes.
		"runtime.GOMAXPROCS": func1(runtime.GOMAXPROCS, func(n int) float64 { return bytesOf(1<<16, n) }),

		"strconv.FormatFloat": func4(strconv.FormatFloat, func(_ float64, _ byte, prec, _ int) float64 { return float64(prec) }),
		"strconv.AppendFloat": func5(strconv.AppendFloat, func(_ []byte, _ float64, _ byte, prec, _ int) float64 { return float64(prec) }),

		"text/tabwriter.NewWriter": func6(tabwriter.NewWriter, func(_ io.Writer, width, tab, pad int, _ byte, _ uint) float64 { return columns(width, tab, pad) }),
		"(*text/tabwriter.Writer).Init": func7((*tabwriter.Writer).Init, func(_ *tabwriter.Writer, _ io.Writer, width, tab, pad int, _ byte, _ uint) float64 {
			return columns(width, tab, pad)
		}),
	})
	return m
}

func sizedTexts() map[string]sized {
	return map[string]sized{
		"bufio.NewReaderSize": func2(bufio.NewReaderSize, func(_ io.Reader, n int) float64 { return float64(n) }),
		"bufio.NewWriterSize": func2(bufio.NewWriterSize, func(_ io.Writer, n int) float64 { return float64(n) }),

		"strings.Repeat": func2(strings.Repeat, func(s string, n int) float64 { return bytesOf(1, len(s), n) }),
		"strings.Join":   func2(strings.Join, func(e []string, sep string) float64 { return joined(e, len(sep)) }),
		"strings.Replace": func4(strings.Replace, func(s, old, new string, n int) float64 {
			return replaced(len(s), len(old), len(new), n, func() int { return strings.Count(s, old) })
		}),
		"strings.ReplaceAll": func3(strings.ReplaceAll, func(s, old, new string) float64 {
			return replaced(len(s), len(old), len(new), -1, func() int { return strings.Count(s, old) })
		}),
		"strings.Split":      func2(strings.Split, func(s, sep string) float64 { return parts(16, len(s), -1, func() int { return strings.Count(s, sep) }) }),
		"strings.SplitAfter": func2(strings.SplitAfter, func(s, sep string) float64 { return parts(16, len(s), -1, func() int { return strings.Count(s, sep) }) }),
		"strings.SplitN": func3(strings.SplitN, func(s, sep string, n int) float64 {
			return parts(16, len(s), n, func() int { return strings.Count(s, sep) })
		}),
		"strings.SplitAfterN": func3(strings.SplitAfterN, func(s, sep string, n int) float64 {
			return parts(16, len(s), n, func() int { return strings.Count(s, sep) })
		}),

		"(*strings.Builder).Grow":        do2((*strings.Builder).Grow, func(b *strings.Builder, n int) float64 { return float64(2*b.Cap()) + float64(n) }),
		"(*strings.Builder).Write":       pair2((*strings.Builder).Write, func(b *strings.Builder, p []byte) float64 { return grown(b.Len(), b.Cap(), len(p)) }),
		"(*strings.Builder).WriteString": pair2((*strings.Builder).WriteString, func(b *strings.Builder, s string) float64 { return grown(b.Len(), b.Cap(), len(s)) }),

		"bytes.Repeat": func2(bytes.Repeat, func(s []byte, n int) float64 { return bytesOf(1, len(s), n) }),
		"bytes.Join":   func2(bytes.Join, func(e [][]byte, sep []byte) float64 { return joined(e, len(sep)) }),
		"bytes.Replace": func4(bytes.Replace, func(s, old, new []byte, n int) float64 {
			return replaced(len(s), len(old), len(new), n, func() int { return bytes.Count(s, old) })
		}),
		"bytes.ReplaceAll": func3(bytes.ReplaceAll, func(s, old, new []byte) float64 {
			return replaced(len(s), len(old), len(new), -1, func() int { return bytes.Count(s, old) })
		}),
		"bytes.Split":      func2(bytes.Split, func(s, sep []byte) float64 { return parts(24, len(s), -1, func() int { return bytes.Count(s, sep) }) }),
		"bytes.SplitAfter": func2(bytes.SplitAfter, func(s, sep []byte) float64 { return parts(24, len(s), -1, func() int { return bytes.Count(s, sep) }) }),
		"bytes.SplitN": func3(bytes.SplitN, func(s, sep []byte, n int) float64 {
			return parts(24, len(s), n, func() int { return bytes.Count(s, sep) })
		}),
		"bytes.SplitAfterN": func3(bytes.SplitAfterN, func(s, sep []byte, n int) float64 {
			return parts(24, len(s), n, func() int { return bytes.Count(s, sep) })
		}),

		"(*bytes.Buffer).Grow":        do2((*bytes.Buffer).Grow, func(b *bytes.Buffer, n int) float64 { return float64(2*b.Cap()) + float64(n) }),
		"(*bytes.Buffer).Write":       pair2((*bytes.Buffer).Write, func(b *bytes.Buffer, p []byte) float64 { return grown(b.Len(), b.Cap(), len(p)) }),
		"(*bytes.Buffer).WriteString": pair2((*bytes.Buffer).WriteString, func(b *bytes.Buffer, s string) float64 { return grown(b.Len(), b.Cap(), len(s)) }),
	}
}

func sizedImages() map[string]sized {
	m := map[string]sized{
		"image.NewYCbCr":    func2(image.NewYCbCr, func(r image.Rectangle, _ image.YCbCrSubsampleRatio) float64 { return pixels(3, r) }),
		"image.NewNYCbCrA":  func2(image.NewNYCbCrA, func(r image.Rectangle, _ image.YCbCrSubsampleRatio) float64 { return pixels(4, r) }),
		"image.NewPaletted": func2(image.NewPaletted, func(r image.Rectangle, _ color.Palette) float64 { return pixels(1, r) }),
	}
	image1(m, "NewAlpha", image.NewAlpha, 1)
	image1(m, "NewAlpha16", image.NewAlpha16, 2)
	image1(m, "NewCMYK", image.NewCMYK, 4)
	image1(m, "NewGray", image.NewGray, 1)
	image1(m, "NewGray16", image.NewGray16, 2)
	image1(m, "NewNRGBA", image.NewNRGBA, 4)
	image1(m, "NewNRGBA64", image.NewNRGBA64, 8)
	image1(m, "NewRGBA", image.NewRGBA, 4)
	image1(m, "NewRGBA64", image.NewRGBA64, 8)
	return m
}

// image1 puts a function that makes an image of pixels of each bytes into a
// table.
func image1[R any](m map[string]sized, name string, f func(image.Rectangle) R, each float64) {
	m["image."+name] = func1(f, func(r image.Rectangle) float64 { return pixels(each, r) })
}

// grown returns the bytes that a buffer allocates to hold more bytes.
func grown(length, capacity, more int) float64 {
	if length+more <= capacity {
		return 0
	}
	return 2*float64(capacity) + float64(more)
}

// parts returns the most bytes that the headers of a text's parts take, each of
// so many bytes; count counts the separators, which takes a while.
func parts(header float64, size, n int, count func() int) float64 {
	if header*float64(size) < 1<<26 || n >= 0 && header*float64(n) < 1<<26 {
		return 0
	}
	c := count() + 1
	if n >= 0 {
		c = min(c, n)
	}
	return header * float64(c)
}

// typeSize returns the size of a type's values.
func typeSize(t reflect.Type) float64 {
	if t == nil {
		return 0
	}
	return float64(t.Size())
}

// elements returns the bytes of n elements of a type of a kind, 0 for types of
// another kind, which the function reports.
func elements(t reflect.Type, k reflect.Kind, n int) float64 {
	if t == nil || t.Kind() != k {
		return 0
	}
	each := float64(t.Elem().Size())
	if k == reflect.Map {
		each += float64(t.Key().Size()) + 1
	}
	return bytesOf(each, n)
}

// digits returns the size of a number written out.
func digits(x *big.Float, prec int) float64 {
	return 2*float64(prec) + math.Abs(float64(x.MantExp(nil)))
}

// power returns the size of x to the power of y, modulo m.
func power(x, y, m *big.Int) float64 {
	if m != nil && m.Sign() != 0 || y.Sign() <= 0 || x.BitLen() <= 1 {
		return 0
	}
	n, _ := new(big.Float).SetInt(y).Float64()
	return n * float64(x.BitLen()-1) / 8
}

// factorial returns the size of the product of the numbers from a to b.
func factorial(a, b int64) float64 {
	if a > b || a <= 0 && b >= 0 {
		return 0
	}
	least := min(math.Abs(float64(a)), math.Abs(float64(b)))
	return (float64(b) - float64(a) + 1) * math.Max(1, math.Log2(math.Max(least, (float64(b)-float64(a))/3))) / 8
}

// columns returns the bytes of a table's narrowest line of columns.
func columns(width, tab, pad int) float64 {
	return float64(max(width, 0)) + float64(max(tab, 0)) + float64(max(pad, 0))
}
